import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { grantConsumer } from '../../src/ledger/connection/grant-roles.ts';
import { readFeedConsumers } from '../../src/ledger/feed/consumer-report.ts';
import { numberEvents } from '../support/number-events.ts';
import { onDatabase } from '../support/on-database.ts';
import { until } from '../support/until.ts';
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

/** Runs `work` in a session logged in as this role. */
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

test('events that were acknowledged in a rolled back transaction are read again, and no others', async () => {
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

test('the second of two workers of one consumer continues behind the first', async () => {
  await as(shop, async (first) => {
    await first.run('begin');
    expect(await seqs(first, 'books', 3)).toEqual([1, 2, 3]);
    const second = as(shop, (session) => seqs(session));
    await first.run(`select ledger.ack_events('books', 3)`);
    await first.run('commit');
    expect(await second).toEqual([4, 5]);
  });
});

test('a consumer that asks for at most no event gets none, and keeps its position', async () => {
  await as(shop, async (session) => {
    expect(await seqs(session, 'books', 0)).toEqual([]);
    expect(await seqs(session, 'books', 1)).toEqual([1]);
  });
});

test('a transaction that holds a consumer is ended after an idle minute, with any session setting', async () => {
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

test('a consumer can read and acknowledge events, and nothing else', async () => {
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

test('a position outside the feed is an error that gives the reason', async () => {
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

test('invalid names and too many consumers of one role are refused', async () => {
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

test('without a daemon a reader assigns the numbers; with a daemon it does so only after five seconds', async () => {
  await write();
  // An open transaction in another database, such as that of a test that fills a table, delays the numbers.
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

const write = () => query(`insert into engine.outbox (kind, key, data) values ('k', 'new', '{}')`);

describe.each(['repeatable read', 'serializable'])('in a %s transaction', (isolation) => {
  const begin = ({ run }: Session) => run(`rollback; begin isolation level ${isolation}`);

  test('a reader assigns the numbers if there is no daemon', async () => {
    await write();
    await as(shop, async (session) => {
      const read = async () => {
        await begin(session);
        return await seqs(session);
      };
      await expect.poll(read, { timeout: 240_000 }).toEqual([1, 2, 3, 4, 5, 6]);
      await session.run(`select ledger.ack_events('books', 6)`);
      await session.run('commit');
      expect(await seqs(session)).toEqual([]);
    });
  }, 250_000);

  test('numbers that were assigned after its snapshot cause an error that names the remedy', async () => {
    await write();
    await as(shop, async (session) => {
      await begin(session);
      await session.run('select ledger.events_head()');
      await numberEvents(ledger.db);
      await expect(seqs(session)).rejects.toMatchObject({
        code: '40001',
        hint: 'run the transaction again: it then sees them',
      });
      await begin(session);
      expect(await seqs(session)).toEqual([1, 2, 3, 4, 5, 6]);
    });
  });

  test('the changes of the transaction itself get their numbers after its commit', async () => {
    await onDatabase(connectionString, async (client) => {
      const session: Session = { run: async (statement) => (await client.query(statement)).rows };
      await begin(session);
      await session.run('select ledger.events_head()');
      await session.run(`insert into engine.outbox (kind, key, data) values ('k', 'own', '{}')`);
      expect(await seqs(session)).toEqual([1, 2, 3, 4, 5]);
      await session.run('commit');
    });
    await numberEvents(ledger.db);
    expect(await query(`select seq::int from ledger.events where key = 'own'`)).toEqual([
      { seq: 6 },
    ]);
  });
});

test('events without a number count as not received, and make a consumer since yesterday a problem', async () => {
  await as(shop, (session) => session.run(`select ledger.ack_events('books', 5)`));
  const found = () => readFeedConsumers(ledger.db);
  expect(await found()).toMatchObject([{ lagEvents: 0, lagSeconds: 0, state: 'reading' }]);
  await query(`insert into engine.outbox (kind, key, data, recorded_at)
               select 'k', 'new', '{}', now() - interval '12 s' from generate_series(1, 3)`);
  expect(await found()).toMatchObject([
    { position: 5, lagEvents: 3, lagSeconds: 12, state: 'reading' },
  ]);
  await query(`update engine.outbox set recorded_at = now() - interval '25 hours'`);
  expect(await found()).toMatchObject([{ lagEvents: 3, state: 'stalled' }]);
  expect(
    await query(`select what from ledger.problems where name = 'feed_consumer_stalled'`),
  ).toEqual([
    {
      what: 'the consumer books has not acknowledged event 6 of the change feed, which still waits for its number',
    },
  ]);
});

/**
 * Starts `late` during a transaction that has done `work`, which blocks it; the transaction then deletes old events.
 */
async function pruneDuring<T>(work: string, late: () => Promise<T>): Promise<T> {
  await query(`update ledger.events set recorded_at = now() - interval '31 days' where seq <= 3`);
  return await onDatabase(connectionString, async (holder) => {
    await holder.query('begin');
    await holder.query(work);
    const blocked = late();
    await until(async () => (await query('select from pg_locks where not granted')).length > 0);
    await holder.query('select engine.prune_events()');
    await holder.query('commit');
    return await blocked;
  });
}

test('events that are deleted while a consumer reads are not skipped silently', async () => {
  const [position] = await query<{ made: string }>(
    `select pg_get_functiondef('engine.require_position'::regproc) as made`,
  );
  const pause = 'perform pg_advisory_xact_lock(1, 1)';
  // A lock inside the check gives the moment after it.
  await query((position?.made ?? '').replace(/END \$function\$/, `${pause}; END $function$`));
  onTestFinished(async () => void (await query(position?.made ?? '')));
  const reading = pruneDuring('select pg_advisory_xact_lock(1, 1)', () =>
    as(shop, (session) => seqs(session)),
  );
  expect(await reading).toEqual([1, 2, 3, 4, 5]);
});

test('events that are deleted while they are queued for a webhook are not skipped silently', async () => {
  await query(`insert into engine.webhooks (name, position) values ('hook', 0)`);
  onTestFinished(async () => void (await query('delete from engine.webhooks')));
  await pruneDuring('lock table engine.deliveries in access exclusive mode', () =>
    query(`select engine.take_over_events('hook')`),
  );
  expect(await query(`select seq from engine.deliveries`)).toEqual([]);
  expect(await query(`select position::int from engine.webhooks`)).toEqual([{ position: 0 }]);
});
