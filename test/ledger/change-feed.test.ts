import { beforeEach, describe, expect, test } from 'vitest';
import { pruneEvents, readEvents, sequenceEvents } from '../../src/ledger/feed/event-store.ts';
import { noteMove } from '../../src/ledger/home-store.ts';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { numberEvents } from '../support/number-events.ts';
import { onDatabase } from '../support/on-database.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';
import { balance } from './little-wallet.ts';

const opened = await withLedger();
const { ledger, query, connectionString } = opened;
const { db } = ledger;

beforeEach(async () => {
  await opened.clear();
  await query('delete from ledger.stream_proofs');
  await query('truncate engine.outbox, ledger.events, engine.consumers');
  await query(
    `insert into ledger.final_states values ('success', true), ('completed', true), ('failed', false)`,
  );
});

/** Ends the first full scan of both lists, so that new rows are news. */
const endFirstWalk = () =>
  query(`insert into ledger.streams (name, last_walk_at) values ('deposit', now()), ('withdraw', now())
         on conflict (wallet, name) do update set last_walk_at = now()`);

async function told(after = 0) {
  await numberEvents(db);
  return await readEvents(db, after, 10_000);
}

const kinds = async () => (await told()).map(({ kind, key }) => `${kind} ${key}`);

const row = listed({ orderNo: 'd', state: 'pending', amount: '1.500', toAddress: '0xabc1' });
const fees = { fee: '0.10', feeSymbol: 'ETH', confirmNum: 12 };

describe('the change feed reports', () => {
  test('contradictions of the history, but neither rows of the first scan nor their first details', async () => {
    await storeListedTransactions(db, 'deposit', [row]);
    await storeTransactionDetails(db, [detailed({ ...row, observation: 2, ...fees })]);
    expect(await told()).toEqual([]);
    await storeTransactionDetails(db, [
      detailed({ ...row, observation: 3, state: 'success', ...fees }),
    ]);
    expect(await kinds()).toEqual(['transaction.final d']);
  });

  test('a deposit from first sight to its final state, with its customer and exact amount', async () => {
    await endFirstWalk();
    await query(`insert into ledger.addresses (slip44, address, status, assigned_to, assigned_no, assigned_at, generated_by, first_seen_at)
                 values (60, '0xAbC1', 'assigned', 'customer 7', 1, now(), 1, now())`);
    await storeListedTransactions(db, 'deposit', [row]);
    await storeListedTransactions(db, 'deposit', [{ ...row, observation: 2, state: 'success' }]);
    await storeTransactionDetails(db, [
      detailed({ ...row, observation: 3, state: 'success', ...fees }),
    ]);
    const events = await told();
    expect(events.map(({ seq, kind, key }) => `${seq} ${kind} ${key}`)).toEqual([
      '1 transaction.seen d',
      '2 address.used 60/0xAbC1',
      '3 transaction.final d',
      '4 transaction.changed d',
    ]);
    const [seen, used, final, changed] = events.map(({ data }) => data);
    const pending = { order_no: 'd', amount: '1.500', state: 'pending', is_final: false };
    expect(seen).toMatchObject({ ...pending, reference: 'customer 7', changed: null });
    expect(used).toMatchObject({ reference: 'customer 7', first_deposit_order_no: 'd' });
    const ended = ['is_final', 'is_success', 'state'];
    expect(final).toMatchObject({ state: 'success', is_success: true, changed: ended });
    const added = ['confirm_num', 'fee', 'fee_symbol'];
    expect(changed).toMatchObject({ fee: '0.10', confirm_num: 12, changed: added });
    for (const own of ['list_word', 'seal', 'observation', 'next_check_at'])
      expect(Object.keys(changed ?? {})).not.toContain(own);
  });

  test('a row that arrives in a final state as seen and final, and one that leaves that state as reopened', async () => {
    await endFirstWalk();
    const of = (observation: number, state: string) =>
      storeListedTransactions(db, 'withdraw', [{ ...row, observation, state }]);
    await of(1, 'completed');
    await of(2, 'success');
    await of(3, 'failed');
    await of(4, 'pending');
    expect(await kinds()).toEqual([
      'transaction.seen d',
      'transaction.final d',
      'transaction.changed d',
      'transaction.reopened d',
      'transaction.final d',
      'transaction.reopened d',
    ]);
  });

  test('rows that other final states reopen or make final, and changes by hand-written SQL', async () => {
    await endFirstWalk();
    await storeListedTransactions(db, 'deposit', [{ ...row, state: 'success' }]);
    const { seq = 0 } = (await told()).at(-1) ?? {};
    await reclassifyByStates(ledger, { final: new Set(['done']), success: new Set(['done']) });
    await query(`update ledger.transactions set is_listed = false where order_no = 'd'`);
    await query(`update ledger.transactions set is_listed = true, amount = 2 where order_no = 'd'`);
    await query(`update ledger.transactions set observed_at = now(), observation = 99`);
    const events = await told(seq);
    expect(events.map(({ kind }) => kind)).toEqual([
      'transaction.reopened',
      'transaction.unlisted',
      'transaction.relisted',
    ]);
    expect(events.at(-1)?.data).toMatchObject({ amount: '2', changed: ['amount', 'is_listed'] });
  });

  test('nothing for answers without changes, which write no row to the outbox either', async () => {
    await endFirstWalk();
    await storeListedTransactions(db, 'deposit', [row]);
    await storeBalances(db, [balance('ETH', '1.0')], 1, true);
    await told();
    const next = () => query(`select last_value from engine.outbox_id_seq`);
    const before = await next();
    await storeListedTransactions(db, 'deposit', [{ ...row, observation: 5 }]);
    await storeBalances(db, [balance('ETH', '1.0')], 6, true);
    expect(await next()).toEqual(before);
  });

  test('a balance, the proof of a list, and a move of the database', async () => {
    await storeBalances(db, [balance('USDT', '1.50', 60, '0xc')], 1, true);
    await storeBalances(db, [balance('USDT', '2.5', 60, '0xc')], 2, true);
    await query(`insert into ledger.streams (name, service_total) values ('deposit', 0)`);
    await query(`update ledger.streams set is_backed = true`);
    await query(`update ledger.streams set doubt = 'a row is missing'`);
    await noteMove(ledger, 'it was restored');
    const events = await told();
    expect(events.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'balance.changed 60/USDT/0xc',
      'balance.changed 60/USDT/0xc',
      'stream.complete deposit',
      'stream.incomplete deposit',
      'wallet.moved main',
    ]);
    expect(events[0]?.data).toMatchObject({ balance: '1.50', frozen: '0', changed: null });
    expect(events[1]?.data).toMatchObject({ balance: '2.5', changed: ['balance'] });
    expect(events[3]?.data).toMatchObject({ reason: 'a row is missing', is_complete: false });
  });
});

describe('the order of the change feed', () => {
  test('events wait for any open transaction, which is named with its process', async () => {
    await endFirstWalk();
    const other = new URL(connectionString);
    other.pathname = '/postgres';
    await onDatabase(other.href, async (client) => {
      await client.query(`set application_name = 'careless'; begin; select pg_current_xact_id()`);
      const pid = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]
        ?.pid;
      await storeListedTransactions(db, 'deposit', [row]);
      expect(await sequenceEvents(db)).toMatchObject({ numbered: 0, isWaiting: true });
      await query(`update engine.outbox set recorded_at = recorded_at - interval '10 seconds'`);
      const problem = () =>
        query<{ what: string; cure: string }>(
          `select what, cure from ledger.problems where name = 'feed_blocked'`,
        ).then(([one]) => one);
      // Other tests use the same server, and have open transactions for a moment.
      await until(async () => (await problem())?.what.includes(`process ${pid}, role `) ?? false);
      expect((await problem())?.what).toContain('application careless, database postgres');
      expect((await problem())?.cure).toContain(`pg_terminate_backend(${pid})`);
      await client.query('commit');
    });
    expect(await kinds()).toEqual(['transaction.seen d']);
    expect(await query(`select from ledger.problems where name = 'feed_blocked'`)).toEqual([]);
  });

  test('a waiting session is not named, but the one that it waits for', async () => {
    await endFirstWalk();
    await onDatabase(connectionString, async (dba) => {
      await dba.query(`set application_name = 'dba'; begin; lock table ledger.coins in share mode`);
      const [own] = (await dba.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
      await onDatabase(connectionString, async (waiting) => {
        await waiting.query('begin; select pg_current_xact_id()');
        const update = waiting.query('update ledger.coins set decimals = decimals');
        await storeListedTransactions(db, 'deposit', [row]);
        await query(`update engine.outbox set recorded_at = recorded_at - interval '10 seconds'`);
        await until(async () => {
          const [problem] = await query<{ what: string; cure: string }>(
            `select what, cure from ledger.problems where name = 'feed_blocked'`,
          );
          return (
            problem?.cure.includes(`pg_terminate_backend(${own?.pid})`) === true &&
            problem.what.includes('application dba')
          );
        });
        await dba.query('commit');
        await update;
        await waiting.query('commit');
      });
    });
    expect(await query(`select from ledger.problems where name = 'feed_blocked'`)).toEqual([]);
  });

  test('one of two sequencers assigns the numbers', async () => {
    await endFirstWalk();
    await storeListedTransactions(db, 'deposit', [row]);
    await onDatabase(connectionString, async (client) => {
      await client.query('begin');
      await client.query('select engine.sequence_events(10)');
      expect(await sequenceEvents(db)).toMatchObject({ numbered: 0, isWaiting: true });
      await client.query('rollback');
    });
    expect(await kinds()).toEqual(['transaction.seen d']);
  });

  test('outbox rows that were restored on another server get numbers', async () => {
    await endFirstWalk();
    await storeListedTransactions(db, 'deposit', [row]);
    await query(`update engine.outbox set xact = '9000000000'`);
    expect(await kinds()).toEqual(['transaction.seen d']);
  });
});

test('old events are deleted after 7 days, those that a consumer has not read after 30, and the latest one never', async () => {
  const at = async (...days: number[]) => {
    await query('truncate ledger.events');
    for (const [index, age] of days.entries())
      await query(
        `insert into ledger.events values (${index + 1}, now() - interval '${age} days', 'k', 'k', '{}')`,
      );
    await pruneEvents(db);
    return (await readEvents(db, 0, 100)).map(({ seq }) => seq);
  };
  expect(await at(40, 31, 29, 8, 6, 1)).toEqual([5, 6]);
  expect(await at(40, 40)).toEqual([2]);
  await query(`insert into engine.consumers (name, role, position) values ('slow', 'r', 2)`);
  expect(await at(40, 31, 29, 8, 6, 1)).toEqual([3, 4, 5, 6]);
  const problem = (name: string) =>
    query<{ what: string }>(`select what from ledger.problems where name = '${name}'`);
  expect((await problem('feed_consumer_stalled'))[0]?.what).toContain('consumer slow');
  expect(await problem('feed_events_lost')).toEqual([]);
  await query(`update engine.consumers set position = 0`);
  expect((await problem('feed_events_lost'))[0]?.what).toContain('events 1 to 2');
});
