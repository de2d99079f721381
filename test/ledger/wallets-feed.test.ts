import { beforeEach, expect, test } from 'vitest';
import { readEvents } from '../../src/ledger/feed/event-store.ts';
import {
  addReceivers,
  claimDelivery,
  endDelivery,
  readDueDeliveries,
} from '../../src/ledger/feed/webhook-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { numberEvents } from '../support/number-events.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const { db } = ledger;
const other = ledger.forWallet('w2').db;

beforeEach(async () => {
  await clear();
  await query(`truncate engine.outbox, ledger.events, engine.webhooks, engine.deliveries;
               delete from ledger.stream_proofs; delete from ledger.coverage`);
});

/** Ends the first full scan of the deposits in both wallets: its rows cause no events. */
async function endFirstWalk(): Promise<void> {
  await query(
    `insert into ledger.streams (wallet, name, last_walk_at) values ('main', 'deposit', now()), ('w2', 'deposit', now())`,
  );
}

/** The events as `seq wallet kind key`. */
async function told(): Promise<string[]> {
  await numberEvents(db);
  const events = await readEvents(db, 0, 1_000);
  return events.map(({ seq, wallet, kind, key }) => `${seq} ${wallet} ${kind} ${key}`);
}

test('an order number in two wallets is two keys of one gapless series', async () => {
  await endFirstWalk();
  await storeListedTransactions(db, 'deposit', [listed({ orderNo: 'a', observation: 1 })]);
  await storeListedTransactions(other, 'deposit', [listed({ orderNo: 'a', observation: 1 })]);
  await query(`update ledger.transactions set tx_hash = '0x2' where wallet = 'w2'`);
  expect(await told()).toEqual([
    '1 main transaction.seen a',
    '2 w2 transaction.seen a',
    '3 w2 transaction.changed a',
  ]);
  const [event] = await readEvents(db, 2, 1);
  expect(event?.data).toMatchObject({ order_no: 'a', changed: ['tx_hash'] });
  expect(event?.data).not.toHaveProperty('wallet');
});

test('a deposit has the reference of its own wallet', async () => {
  await endFirstWalk();
  await query(`insert into ledger.addresses (wallet, slip44, address, status, generated_by, first_seen_at, assigned_to, assigned_at) values
    ('main', 60, '0xa', 'assigned', 1, now(), 'alice', now()), ('w2', 60, '0xa', 'assigned', 1, now(), 'bob', now())`);
  for (const own of [db, other])
    await storeListedTransactions(own, 'deposit', [
      listed({ orderNo: 'a', toAddress: '0xa', observation: 1 }),
    ]);
  await numberEvents(db);
  const references = (await readEvents(db, 0, 100))
    .filter(({ kind }) => kind === 'transaction.seen')
    .map(({ wallet, data }) => `${wallet} ${data['reference']}`);
  expect(references).toEqual(['main alice', 'w2 bob']);
});

test('the first deposit to an address is looked up in its own wallet', async () => {
  await storeListedTransactions(db, 'deposit', [listed({ orderNo: 'a', observation: 1 })]);
  await query(`insert into ledger.addresses (wallet, slip44, address, status, generated_by, first_seen_at, first_deposit_order_no) values
    ('main', 60, '0xa', 'used', 1, now(), 'a'), ('w2', 60, '0xa', 'used', 1, now(), 'a')`);
  expect(await told()).toEqual(['1 w2 address.used 60/0xa']);
});

test('a webhook gets the events of a wallet and key in order, and waits for no other wallet', async () => {
  await addReceivers(db, ['shop']);
  await query(`insert into ledger.events (seq, recorded_at, wallet, kind, key, data) values
    (1, now(), 'main', 'k', 'a', '{}'), (2, now(), 'w2', 'k', 'a', '{}'), (3, now(), 'main', 'k', 'a', '{}')`);
  const due = async () =>
    (await readDueDeliveries(db, 'shop', { max: 10, isProbe: false })).map(({ seq }) => seq).sort();
  expect(await due()).toEqual([1, 2]);
  const claimed = await claimDelivery(db, 'shop', 2);
  expect(claimed?.event).toMatchObject({ seq: 2, wallet: 'w2', key: 'a' });
  expect(await claimDelivery(db, 'shop', 3)).toBeNull();
  const first = await claimDelivery(db, 'shop', 1);
  await endDelivery(db, { receiver: 'shop', seq: 1, attempt: first?.attempt ?? 0 }, null);
  expect(await due()).toEqual([3]);
});

test('the proof of a list and the age of its verification belong to its wallet', async () => {
  await query(
    `insert into ledger.streams (wallet, name, service_total) values ('main', 'deposit', 0), ('w2', 'deposit', 0)`,
  );
  await query(`update ledger.streams set is_backed = true where wallet = 'w2'`);
  expect(await query('select wallet, name, is_complete from ledger.stream_proofs')).toEqual([
    { wallet: 'w2', name: 'deposit', is_complete: true },
  ]);
  expect(await told()).toEqual(['1 w2 stream.complete deposit']);
  const [event] = await readEvents(db, 0, 1);
  expect(event?.data).not.toHaveProperty('wallet');

  await query(`insert into ledger.coverage (wallet, stream, day, transactions) values
    ('main', 'deposit', '2026-01-01', 1), ('w2', 'deposit', '2026-01-01', 1), ('w2', 'deposit', '2026-01-02', 1)`);
  const verified = async () =>
    (
      await query<{ one: string }>(`
        select wallet || ' ' || (verified_through is not null) || ' ' || (oldest_verified_at is not null) as one
          from ledger.sync_health where name = 'deposit' order by wallet`)
    ).map(({ one }) => one);
  await query(
    `update ledger.coverage set verified_at = now() where wallet = 'w2' and day = '2026-01-01'`,
  );
  expect(await verified()).toEqual(['main false false', 'w2 false true']);
  await query(`update ledger.coverage set verified_at = now() where wallet = 'w2'`);
  expect(await verified()).toEqual(['main false false', 'w2 true true']);
  await query(
    `insert into ledger.coverage (wallet, stream, day, transactions) values ('main', 'deposit', '2026-01-03', 1)`,
  );
  expect(await verified()).toEqual(['main false false', 'w2 true true']);
  await query(
    `insert into ledger.coverage (wallet, stream, day, transactions) values ('w2', 'deposit', '2026-01-03', 1)`,
  );
  expect(await verified()).toEqual(['main false false', 'w2 false true']);
  await query(`delete from ledger.coverage where wallet = 'w2' and verified_at is null`);
  expect(await verified()).toEqual(['main false false', 'w2 true true']);
});

test('a row that is moved by hand leaves one wallet and enters the other', async () => {
  await endFirstWalk();
  await storeListedTransactions(db, 'deposit', [listed({ orderNo: 'a', observation: 1 })]);
  await query(`update ledger.transactions set wallet = 'w2'`);
  expect(await told()).toEqual([
    '1 main transaction.seen a',
    '2 main transaction.unlisted a',
    '3 w2 transaction.seen a',
  ]);
  expect(
    await query(`select wallet, ledger_count::int as n from ledger.streams order by wallet`),
  ).toEqual([
    { wallet: 'main', n: 0 },
    { wallet: 'w2', n: 1 },
  ]);
});

test('the number of waiting details belongs to a wallet', async () => {
  for (const own of [db, other])
    await storeListedTransactions(own, 'deposit', [listed({ orderNo: 'a', observation: 1 })]);
  expect(await query('select wallet, order_no from ledger.waiting_details order by 1')).toEqual([
    { wallet: 'main', order_no: 'a' },
    { wallet: 'w2', order_no: 'a' },
  ]);
});

test('a move of the database is an event of each wallet', async () => {
  await query(
    `insert into ledger.streams (wallet, name) values ('main', 'deposit'), ('w2', 'deposit')`,
  );
  await query(
    `insert into engine.moves (epoch, what, noticed_at) values (7, 'it was restored', now())`,
  );
  expect(await told()).toEqual(['1 main wallet.moved main', '2 w2 wallet.moved w2']);
});
