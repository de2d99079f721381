import { afterAll, beforeEach, expect, test } from 'vitest';
import { grantConsumer } from '../../src/ledger/connection/grant-roles.ts';
import { onDatabase } from '../support/on-database.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, connectionString } = await withLedger();
const unique = `${process.pid}_${Date.now()}`;
const [shop, bank] = [`shop_${unique}`, `bank_${unique}`];
await grantConsumer(ledger, shop);
await grantConsumer(ledger, bank);

afterAll(async () => {
  for (const role of [shop, bank]) await query(`drop owned by ${role}; drop role ${role}`);
});

beforeEach(async () => {
  await query('truncate engine.outbox, ledger.events, engine.consumers');
  await query(
    `insert into ledger.events select n, now(), 'k', 'k' || n, '{}' from generate_series(1, 5) as n`,
  );
});

type Session = { run<T extends object>(statement: string): Promise<T[]> };

/** Runs `work` in a session that logged in as this role. */
function as<T>(role: string, work: (session: Session) => Promise<T>): Promise<T> {
  return onDatabase(connectionString, async (client) => {
    await client.query(`set session authorization ${role}`);
    return await work({ run: async (statement) => (await client.query(statement)).rows });
  });
}

const seqs = async ({ run }: Session, consumer = 'books', max = 100) =>
  (await run<{ seq: string }>(`select seq from ledger.next_events('${consumer}', ${max})`)).map(
    ({ seq }) => Number(seq),
  );

test('what was acknowledged in a transaction that failed comes again, and nothing else does', async () => {
  await as(shop, async (session) => {
    expect(await seqs(session, 'books', 2)).toEqual([1, 2]);
    expect(await seqs(session, 'books', 2)).toEqual([1, 2]);
    await session.run('begin');
    await session.run(`select ledger.ack_events('books', 2)`);
    expect(await seqs(session)).toEqual([3, 4, 5]);
    await session.run('rollback');
    expect(await seqs(session)).toEqual([1, 2, 3, 4, 5]);
    await session.run(`select ledger.ack_events('books', 4)`);
    expect(await session.run(`select ledger.ack_events('books', 2) as position`)).toEqual([
      { position: '4' },
    ]);
    expect(await seqs(session)).toEqual([5]);
    expect(await seqs(session, 'others')).toHaveLength(5);
  });
});

test('of two workers of one consumer the second goes on behind the first', async () => {
  await as(shop, async (first) => {
    await first.run('begin');
    expect(await seqs(first, 'books', 3)).toEqual([1, 2, 3]);
    const second = as(shop, (session) => seqs(session));
    await first.run(`select ledger.ack_events('books', 3)`);
    await first.run('commit');
    expect(await second).toEqual([4, 5]);
  });
});

test('a transaction that holds a consumer is ended after an idle minute, whatever the session has set', async () => {
  await as(shop, async ({ run }) => {
    for (const call of [`ledger.next_events('books')`, `ledger.ack_events('books', 1)`]) {
      await run('begin');
      await run('set local idle_in_transaction_session_timeout = 0');
      await run(`select ${call}`);
      const [setting] = await run('show idle_in_transaction_session_timeout');
      expect([call, setting]).toEqual([call, { idle_in_transaction_session_timeout: '1min' }]);
      await run('rollback');
    }
  });
});

test('a name belongs to the role that first used it; the owner may use it too', async () => {
  await as(shop, (session) => seqs(session));
  await as(bank, async (session) => {
    await expect(seqs(session)).rejects.toThrow('the consumer books belongs to another role');
    await expect(session.run(`select ledger.ack_events('books', 1)`)).rejects.toThrow(
      'another role',
    );
    expect(await seqs(session, 'bank')).toHaveLength(5);
  });
  await query(`select ledger.ack_events('books', 5)`);
  await as(shop, async (session) => expect(await seqs(session)).toEqual([]));
});

test('a consumer reads and acknowledges events, and does nothing else', async () => {
  await as(shop, async ({ run }) => {
    expect(
      await run(
        'select ledger.events_head()::int as head, count(*)::int as events from ledger.events',
      ),
    ).toEqual([{ head: 5, events: 5 }]);
    for (const statement of [
      'delete from ledger.events',
      'select from engine.consumers',
      'select from engine.outbox',
      'select from ledger.transactions',
      `select engine.sequence_events(1)`,
      `select engine.emit('k', 'k', '{}')`,
      'select ledger.take_address(60, null)',
    ])
      await expect(run(statement)).rejects.toThrow(/permission denied/);
  });
});

test('a position that the feed does not have is an error that says why', async () => {
  await as(shop, async (session) => {
    const { run } = session;
    await expect(run(`select ledger.ack_events('books', 6)`)).rejects.toMatchObject({
      code: 'WL002',
      message: expect.stringContaining('the feed ends at 5'),
    });
    await expect(run(`select ledger.ack_events('books', null)`)).rejects.toMatchObject({
      code: 'WL002',
    });
    await run(`select ledger.ack_events('books', 5)`);
    await query('delete from ledger.events where seq > 3');
    await expect(seqs(session)).rejects.toMatchObject({
      code: 'WL002',
      message: expect.stringContaining('went back to an earlier state'),
    });
    await query('delete from ledger.events where seq < 3');
    await expect(seqs(session, 'late')).rejects.toMatchObject({
      code: 'WL003',
      message: expect.stringContaining('the events 1 to 2 have been deleted'),
    });
    await run(`select ledger.ack_events('late', ledger.events_head())`);
    expect(await seqs(session, 'late')).toEqual([]);
  });
});

test('odd names and too many consumers of one role are refused', async () => {
  await as(shop, async ({ run }) => {
    for (const name of ['null', `''`, `' a'`, `'a''b'`, `repeat('a', 101)`])
      await expect(run(`select ledger.next_events(${name})`)).rejects.toMatchObject({
        code: '22023',
      });
    await query(
      `insert into engine.consumers (name, role) select 'c' || n, '${shop}' from generate_series(1, 100) as n`,
    );
    await expect(run(`select ledger.next_events('one-more')`)).rejects.toThrow(
      '100 consumers already',
    );
    expect(await run(`select ledger.next_events('c7')`)).toHaveLength(5);
  });
});

test('without a daemon the one who reads gives the numbers; beside a daemon only after five seconds', async () => {
  const write = () =>
    query(`insert into engine.outbox (kind, key, data) values ('k', 'new', '{}')`);
  await write();
  // A transaction that is open in another database, such as a test's that fills a table, holds the numbers back.
  const wait = { timeout: 240_000 };
  await as(shop, (session) => expect.poll(() => seqs(session), wait).toEqual([1, 2, 3, 4, 5, 6]));
  await onDatabase(connectionString, async (daemon) => {
    await daemon.query('select pg_advisory_lock_shared(7246006)');
    await write();
    await as(shop, async (session) => {
      expect(await seqs(session)).toHaveLength(6);
      await query(`update engine.outbox set recorded_at = recorded_at - interval '5 seconds'`);
      await expect.poll(() => seqs(session), wait).toHaveLength(7);
    });
  });
}, 500_000);
