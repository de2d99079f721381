import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { keepListening } from '../../src/ledger/connection/keep-listening.ts';
import { hintChannel, storeHint } from '../../src/ledger/hint-store.ts';
import { leaseStream } from '../../src/ledger/lists/lease-store.ts';
import { releaseStream } from '../../src/ledger/lists/stream-store.ts';
import { syncDetails } from '../../src/sync/details/sync-details.ts';
import { createHintInbox } from '../../src/sync/hints/hint-inbox.ts';
import { serveHints } from '../../src/sync/hints/serve-hints.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import type { SyncContext } from '../../src/sync/sync-context.ts';
import { recordLog } from '../support/record-log.ts';
import { until } from '../support/until.ts';
import { onePass, openWallet, type Wallet, withWallet } from '../support/with-wallet.ts';

const signal = new AbortController().signal;

/** Serves hints like a daemon until the test ends. */
function serve(context: SyncContext) {
  const server = serveHints([context], context.log);
  const listening = keepListening({
    ledger: context.ledger,
    channels: { [hintChannel]: server.wake },
    log: context.log,
  });
  const close = async () => {
    await listening.close();
    await server.close();
  };
  onTestFinished(close);
  return { ...server, close };
}

/** A wallet whose history is in the ledger; the requests sent so far are not counted. */
async function filled(options: Parameters<typeof withWallet>[0] = {}): Promise<Wallet> {
  const wallet = await withWallet({ transactions: 300, ...options });
  await syncTransactions(wallet.context, onePass());
  await syncDetails(wallet.context, signal);
  wallet.sandbox.stats.reset();
  return wallet;
}

const rows = async ({ ledger }: Wallet, statement: string) =>
  (await ledger.pool.query(statement)).rows as Record<string, unknown>[];

const knows = (wallet: Wallet, orderNo: string) => async () =>
  (await rows(wallet, `select from ledger.transactions where order_no = '${orderNo}'`)).length > 0;

const isServed = (wallet: Wallet) => async () =>
  (await rows(wallet, `select from engine.hints where subject <> 'details'`)).length === 0;

test('a hint causes a new row to be stored at once and its detail next, and costs one request per list', async () => {
  const wallet = await filled();
  serve(wallet.context);
  const [orderNo = ''] = wallet.sandbox.world.addTransactions(1, {
    type: 'deposit',
    state: 'success',
  });
  await wallet.ledger.pool.query('select ledger.hint($1)', [[orderNo, 'not-there', '']]);
  await until(async () => {
    const [row] = await rows(
      wallet,
      `select fee_symbol from ledger.transactions where order_no = '${orderNo}' and detail_synced_at is not null`,
    );
    return row !== undefined;
  }, 5_000);
  const { listRequests, requests } = wallet.sandbox.stats;
  expect(listRequests).toEqual({ deposit: 1, withdraw: 1, all: 0 });
  expect(requests['/v1/transaction/info']).toBe(1);
  expect(
    await rows(wallet, `select order_no from engine.hints where order_no = 'not-there'`),
  ).toHaveLength(1);
  expect(await rows(wallet, `select from ledger.streams where not is_complete`)).toEqual([]);
});

test('a flood of hints at two daemons costs one request per list and second, and the last hint is honoured', async () => {
  const wallet = await filled();
  const other = await openWallet(wallet.sandbox, wallet.connectionString);
  onTestFinished(() => other.ledger.close());
  const daemons = [wallet.context, other.context].map((context) => {
    const server = serve(context);
    const store = (orderNos: readonly string[]) => storeHint(context.ledger.db, orderNos);
    const inbox = createHintInbox({ store, onStored: server.wake, log: silentLog });
    onTestFinished(() => inbox.close());
    return inbox;
  });
  const outcomes = { accepted: 0, coalesced: 0 };
  const startedAt = performance.now();
  for (let number = 0; performance.now() < startedAt + 4_000; number += 1) {
    for (const inbox of daemons) outcomes[inbox.hint([`forged-${number}`])] += 1;
    if (number % 20 === 0) await delay(1);
  }
  const [orderNo = ''] = wallet.sandbox.world.addTransactions(1, { type: 'deposit' });
  daemons[0]?.hint([]);
  await until(knows(wallet, orderNo), 5_000);
  await until(isServed(wallet), 5_000);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { listRequests, requests } = wallet.sandbox.stats;
  for (const count of [listRequests.deposit, listRequests.withdraw]) {
    expect(count).toBeGreaterThan(2);
    expect(count).toBeLessThanOrEqual(Math.ceil(seconds));
  }
  expect(requests['/v1/transaction/info']).toBe(0);
  expect(outcomes.coalesced).toBeGreaterThan(20 * outcomes.accepted);
  const [stored] = await rows(wallet, 'select count(*)::int as n from engine.hints');
  // Concurrent calls do not see each other's rows.
  expect(stored?.['n']).toBeLessThanOrEqual(1_500);
  // A read without news leaves no row.
  expect(await rows(wallet, `select from ledger.sync_runs where job = 'hints'`)).toHaveLength(1);
}, 30_000);

test('a hint during a pass over the list is honoured right after that pass, by either daemon', async () => {
  const wallet = await filled();
  const { db } = wallet.ledger;
  expect(await leaseStream(db, 'deposit', 'another pass')).toBeDefined();
  // Its owner is alive: the lease of a dead process would be free.
  await db.execute(
    `update ledger.streams set lease_owner = '${wallet.ledger.instance} 1' where name = 'deposit'`,
  );
  serve(wallet.context);
  const [orderNo = ''] = wallet.sandbox.world.addTransactions(1, { type: 'deposit' });
  await wallet.ledger.pool.query('select ledger.hint()');
  await until(async () => wallet.sandbox.stats.listRequests.withdraw === 1);
  await delay(300);
  expect(wallet.sandbox.stats.listRequests.deposit).toBe(0);
  await releaseStream(db, 'deposit', `${wallet.ledger.instance} 1`, null);
  await until(knows(wallet, orderNo), 3_000);
});

test('a hint whose read fails is retried later, and the failure does not change the state of the list', async () => {
  const wallet = await filled();
  wallet.sandbox.answers.set('/v1/transaction/list', {
    status: 403,
    text: '{"code":7,"msg":"no"}',
  });
  const { log, lines } = recordLog();
  serve({ ...wallet.context, log });
  const [orderNo = ''] = wallet.sandbox.world.addTransactions(1, { type: 'deposit' });
  await wallet.ledger.pool.query('select ledger.hint()');
  await until(
    async () =>
      (await rows(wallet, `select from ledger.streams where last_error is not null`)).length === 2,
  );
  wallet.sandbox.answers.clear();
  expect(await rows(wallet, 'select from engine.hints where taken_at is not null')).toHaveLength(2);
  await until(async () => lines.some(({ message }) => message.includes('could not be served')));
  // As if its time had come.
  await wallet.ledger.pool.query(
    `update engine.hints set taken_at = now() - interval '31 seconds'; update engine.hint_turns set next_at = now()`,
  );
  await wallet.ledger.pool.query(`select pg_notify('${hintChannel}', 'anything')`);
  await until(knows(wallet, orderNo), 5_000);
});

test('a read after a hint costs one request if the counts differ, and the next pass examines the difference', async () => {
  const wallet = await filled({ totalLag: -3 });
  expect(await rows(wallet, 'select from ledger.streams where is_complete')).toEqual([]);
  const before = await rows(
    wallet,
    'select name, checkpoint, is_complete from ledger.streams order by name',
  );
  wallet.sandbox.stats.reset();
  serve(wallet.context);
  for (let looks = 1; looks <= 2; looks += 1) {
    await wallet.ledger.pool.query('select ledger.hint()');
    await until(isServed(wallet), 5_000);
    expect(wallet.sandbox.stats.listRequests).toEqual({ deposit: looks, withdraw: looks, all: 0 });
  }
  expect(
    await rows(wallet, 'select name, checkpoint, is_complete from ledger.streams order by name'),
  ).toEqual(before);
});

test('a hint causes the detail of an open order to be fetched again, at most once in five seconds', async () => {
  const wallet = await filled();
  const [orderNo = ''] = wallet.sandbox.world.addTransactions(1, {
    type: 'withdraw',
    state: 'pending',
  });
  await syncTransactions(wallet.context, onePass());
  await syncDetails(wallet.context, signal);
  wallet.sandbox.stats.reset();
  serve(wallet.context);
  const hint = () => wallet.ledger.pool.query('select ledger.hint($1)', [[orderNo]]);
  const asked = () => wallet.sandbox.stats.requests['/v1/transaction/info'];
  await hint();
  await until(async () => asked() === 1, 5_000);
  // Each read takes a turn of one second.
  for (let count = 0; count < 2; count += 1) {
    await hint();
    await until(isServed(wallet), 5_000);
  }
  expect(asked()).toBe(1);
  // The row in the list changes too, but only the detail has the fee.
  wallet.sandbox.world.setState(orderNo, 'success');
  await wallet.ledger.pool.query(
    `update engine.hints set taken_at = taken_at - interval '5 seconds'`,
  );
  await hint();
  const isDone = `select from ledger.transactions where order_no = '${orderNo}' and is_final
    and not exists (select from ledger.waiting_details w where w.order_no = '${orderNo}')`;
  await until(async () => (await rows(wallet, isDone)).length === 1, 5_000);
  const whenDone = asked();
  expect(whenDone).toBeLessThanOrEqual(3);
  await hint();
  await until(isServed(wallet), 5_000);
  expect(asked()).toBe(whenDone);
});

test('hints in an open transaction delay no other process, and take effect at its commit', async () => {
  const wallet = await filled();
  serve(wallet.context);
  const slow = await wallet.ledger.pool.connect();
  onTestFinished(() => slow.release(true));
  await slow.query('begin isolation level repeatable read');
  for (let count = 0; count < 50; count += 1) await slow.query(`select ledger.hint('{"1","2"}')`);
  await wallet.ledger.pool.query(`select ledger.hint('{"1"}')`);
  await until(async () => wallet.sandbox.stats.listRequests.deposit === 1, 2_000);
  await until(isServed(wallet), 2_000);
  const [orderNo = ''] = wallet.sandbox.world.addTransactions(1, { type: 'deposit' });
  await slow.query('commit');
  await until(knows(wallet, orderNo), 3_000);
  expect(wallet.sandbox.stats.listRequests.deposit).toBe(2);
});

test('a daemon whose notification connection was cut receives the next hint', async () => {
  const wallet = await filled();
  serve(wallet.context);
  const listeners = `pg_stat_activity where datname = current_database() and query ilike 'listen%' and pid <> pg_backend_pid()`;
  await until(async () => (await rows(wallet, `select from ${listeners}`)).length === 1);
  await rows(wallet, `select pg_terminate_backend(pid) from ${listeners}`);
  const [orderNo = ''] = wallet.sandbox.world.addTransactions(1, { type: 'deposit' });
  await wallet.ledger.pool.query('select ledger.hint()');
  await until(knows(wallet, orderNo), 4_000);
});

test('an inbox keeps a hint while the database fails, and holds at most 200 order numbers', async () => {
  const { log, lines } = recordLog();
  const stored: string[][] = [];
  let isDown = true;
  const inbox = createHintInbox({
    async store(orderNos) {
      if (isDown) throw new Error('down');
      stored.push([...orderNos]);
    },
    onStored: () => undefined,
    log,
  });
  onTestFinished(() => inbox.close());
  expect(inbox.hint(['first'])).toBe('accepted');
  for (let count = 0; count < 10_000; count += 1) inbox.hint([`order-${count}`]);
  isDown = false;
  await until(async () => stored.length > 0, 3_000);
  expect(stored[0]).toHaveLength(200);
  expect(stored[0]?.[0]).toBe('first');
  expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  inbox.hint(['last']);
  await inbox.close();
  expect(stored.at(-1)).toEqual(['last']);
});
