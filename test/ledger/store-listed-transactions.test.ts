import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { storeListedAddresses } from '../../src/ledger/addresses/address-store.ts';
import { unlistRows } from '../../src/ledger/lists/stream-store.ts';
import { storeRejects } from '../../src/ledger/transactions/reject-store.ts';
import {
  areListedAsStored,
  type ListedTransaction,
  storeListedTransactions,
} from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { forAll } from '../support/for-all.ts';
import {
  cutIntoBatches,
  decimals,
  detailed,
  hostileText,
  listed,
  readChanges,
  readMiscounts,
  readTransactions,
  readVersions,
  type StoredRow,
} from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const fixture = await withLedger();
const { ledger, connect, query, clear, logged } = fixture;
const { db } = ledger;
beforeEach(clear);

/** Stores the rows. If they already count as stored, this must change nothing. */
async function store(rows: ListedTransaction[], stream: 'deposit' | 'withdraw' = 'deposit') {
  const isStored = rows.length > 0 && (await areListedAsStored(db, stream, rows));
  const before = isStored ? await readVersions(fixture) : null;
  const counts = await ledger.transaction((transaction) =>
    storeListedTransactions(transaction, stream, rows),
  );
  if (before) {
    expect(counts).toEqual({ inserted: 0, updated: 0 });
    expect(await readVersions(fixture)).toEqual(before);
  }
  return counts;
}

/** Only small numbers: a separate test covers the long ones. */
const shortDecimals = decimals.filter(([given]) => given.length < 100);
const types = ['deposit', 'withdraw', ' Withdraw ', 'refund'];
const states = ['success', 'pending', 'failed'];

type Observed = { row: ListedTransaction; stored: StoredRow };

/**
 * Observations of a few orders in the order of their numbers. The values of an order change from one observation to
 * the next or stay, but never return to an earlier value (txHash contains the version).
 */
const observations: fc.Arbitrary<Observed[]> = fc
  .array(
    fc.record({
      order: fc.nat(4),
      changes: fc.boolean(),
      decimal: fc.nat(shortDecimals.length - 1),
      type: fc.constantFrom(...types),
      state: fc.constantFrom(...states),
      occurredAt: fc.integer({ min: 0, max: 4_000_000_000_000 }),
      extra: fc.constantFrom('{"memo": "a"}', '{"memo": 1.10}'),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((events) => {
    const last = new Map<number, Observed>();
    return events.map((event, index) => {
      const known = last.get(event.order);
      const observation = index + 1;
      const next =
        known && !event.changes ? repeated(known, observation) : fresh(event, observation);
      last.set(event.order, next);
      return next;
    });
  });

function repeated({ row, stored }: Observed, observation: number): Observed {
  return { row: { ...row, observation }, stored };
}

function fresh(
  event: { order: number; decimal: number; occurredAt: number } & Record<
    'type' | 'state' | 'extra',
    string
  >,
  observation: number,
): Observed {
  const [amount, storedAmount] = shortDecimals[event.decimal] ?? ['', ''];
  const row = listed({
    ...event,
    orderNo: `order-${event.order}`,
    txHash: `version-${observation}`,
    symbol: 'ETH',
    toAddress: `0xAb${event.order}`,
    amount,
    observation,
  });
  const stored = {
    order_no: row.orderNo,
    stream: 'deposit',
    request_id: null,
    symbol: 'ETH',
    tx_hash: row.txHash,
    from_address: null,
    to_address: row.toAddress,
    amount: storedAmount,
    type: event.type,
    state: event.state,
    confirm_num: null,
    fee: null,
    fee_symbol: null,
    extra: event.extra,
    observation: String(observation),
    occurred_ms: String(event.occurredAt),
  };
  return { row, stored };
}

/** Returns the expected result of storing the batches in this order. */
function model(batches: Observed[][]) {
  const rows = new Map<string, Observed>();
  const expected = { inserted: 0, updated: 0, changes: 0 };
  for (const batch of batches) {
    const newest = new Map<string, Observed>();
    for (const one of batch) {
      const known = newest.get(one.row.orderNo);
      if (!known || known.row.observation <= one.row.observation) newest.set(one.row.orderNo, one);
    }
    for (const [orderNo, one] of newest) {
      const known = rows.get(orderNo);
      if (!known) expected.inserted += 1;
      else if (known.stored === one.stored || known.row.observation > one.row.observation) continue;
      else {
        expected.updated += 1;
        expected.changes += Object.keys(one.stored).filter(
          (field) => field !== 'observation' && known.stored[field] !== one.stored[field],
        ).length;
      }
      rows.set(orderNo, { ...one, stored: one.stored });
    }
  }
  return { rows, ...expected };
}

describe('any permutation, repetition and batching of answers', () => {
  test('[P11 P14] ends with the latest answer for each order, counted and logged exactly', async () => {
    const batched = observations.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc
          .tuple(
            fc.shuffledSubarray(all, { minLength: all.length }),
            fc.subarray(all),
            fc.array(fc.nat(30), { maxLength: 8 }),
          )
          .map(([shuffled, again, cuts]) => cutIntoBatches([...shuffled, ...again], cuts)),
      ),
    );
    await forAll(batched)(100, async ([all, batches]) => {
      await clear();
      const counts = { inserted: 0, updated: 0 };
      for (const batch of batches) {
        const stored = await store(batch.map(({ row }) => row));
        counts.inserted += stored.inserted;
        counts.updated += stored.updated;
      }
      const latest = new Map(all.map(({ row, stored }) => [row.orderNo, stored]));
      const byOrder = [...latest.values()].sort((a, b) =>
        String(a['order_no']) < String(b['order_no']) ? -1 : 1,
      );
      const found = await readTransactions(fixture);
      expect(found.map((row) => ({ ...row, observation: '' }))).toEqual(
        byOrder.map((row) => ({ ...row, observation: '' })),
      );
      const { inserted, updated, changes } = model(batches);
      expect(counts).toEqual({ inserted, updated });
      expect(await readChanges(fixture)).toHaveLength(changes);
      expect(await readMiscounts(fixture)).toEqual([]);
    });
  });

  test('[P16 V12] an empty field keeps its value if it could not be read, and loses it if it is empty', async () => {
    const field = (name: string) => fc.option(fc.constantFrom(`${name}-1`, `${name}-2`));
    const answers = fc.array(
      fc.record({
        requestId: field('request'),
        symbol: field('symbol'),
        fromAddress: field('from'),
        toAddress: field('to'),
        amount: fc.option(fc.constantFrom('1', '2.50')),
        state: field('state'),
        unreadable: fc.subarray(['symbol', 'amount', 'state']),
      }),
      { minLength: 1, maxLength: 8 },
    );
    await forAll(answers)(60, async (given) => {
      await clear();
      const last: Record<string, string | null> = {};
      for (const [index, { unreadable, ...answer }] of given.entries()) {
        await store([listed({ ...answer, unreadable, observation: index + 1 })]);
        for (const [name, value] of Object.entries(answer))
          if (value || !unreadable.includes(name)) last[name] = value;
      }
      const [row] = await readTransactions(fixture);
      expect(row).toMatchObject({
        request_id: last['requestId'] ?? null,
        symbol: last['symbol'] ?? null,
        from_address: last['fromAddress'] ?? null,
        to_address: last['toAddress'] ?? null,
        amount: last['amount'] ?? null,
        state: last['state'] ?? null,
      });
    });
  });

  test('[V15] stores hostile text unchanged', async () => {
    const rows = fc.array(
      fc.record({
        orderNo: hostileText,
        requestId: fc.option(hostileText),
        symbol: hostileText,
        txHash: hostileText,
        toAddress: hostileText,
        type: hostileText,
        state: hostileText,
        extra: fc.option(hostileText.map((text) => JSON.stringify({ [text]: text }))),
      }),
      { minLength: 1, maxLength: 6 },
    );
    await forAll(rows)(80, async (given) => {
      await clear();
      await store(given.map((row, index) => listed({ ...row, observation: index + 1 })));
      const latest = new Map(given.map((row) => [row.orderNo, row]));
      const found = await readTransactions(fixture);
      expect(found).toHaveLength(latest.size);
      for (const row of found) {
        const one = latest.get(String(row['order_no']));
        expect(row).toMatchObject({
          request_id: one?.requestId,
          symbol: one?.symbol,
          tx_hash: one?.txHash,
          to_address: one?.toAddress,
          type: one?.type,
          state: one?.state,
        });
        expect(JSON.parse(row['extra'] ?? 'null')).toEqual(JSON.parse(one?.extra ?? 'null'));
      }
    });
  });
});

test('[V3 V4 V5] amounts are stored digit for digit, at any length', async () => {
  const rows = decimals.map(([amount], nth) => listed({ orderNo: `order-${nth}`, amount }));
  await store(rows);
  expect((await readTransactions(fixture)).map((row) => row['amount'])).toEqual(
    decimals.map(([, stored]) => stored),
  );
});

test('equal rows are neither written nor locked, nor is their stream', async () => {
  const rows = [1, 2, 3].map((nth) =>
    listed({
      orderNo: `order-${nth}`,
      amount: '1.50',
      state: 'success',
      occurredAt: 1_700_000_000_123,
      extra: '{"memo":"x"}',
    }),
  );
  await store(rows);
  const before = await readVersions(fixture);
  const again = rows.map((row) => ({ ...row, observation: 9 }));
  expect(await store(again)).toEqual({ inserted: 0, updated: 0 });
  const unreadable = { amount: null, unreadable: ['amount'] };
  expect(await store(again.map((row) => ({ ...row, ...unreadable })))).toMatchObject({
    updated: 0,
  });
  expect(await readVersions(fixture)).toEqual(before);
});

test('a page counts as stored if every row equals the list row, and no reject is open', async () => {
  const rows = [1, 2].map((nth) => listed({ orderNo: `order-${nth}`, amount: '1.50' }));
  const again = rows.map((row) => ({ ...row, observation: 9 }));
  const areStored = (page: ListedTransaction[], stream: 'deposit' | 'withdraw' = 'deposit') =>
    areListedAsStored(db, stream, page);
  expect(await areStored(again)).toBe(false);
  await store(rows);
  expect(await areStored(again)).toBe(true);
  const [first] = again;
  if (!first) throw new Error('no row');
  expect(await areStored([...again, { ...first, orderNo: 'order-3' }])).toBe(false);
  expect(await areStored([{ ...first, amount: '1.51' }])).toBe(false);
  // An older answer changes nothing.
  expect(await areStored([{ ...first, amount: '1.51', observation: 0 }])).toBe(true);
  expect(await areStored(again, 'withdraw')).toBe(false);
  await query(`update ledger.transactions set is_listed = false where order_no = 'order-1'`);
  expect(await areStored(again)).toBe(false);
  await store(again);
  expect(await areStored(again.map((row) => ({ ...row, observation: 10 })))).toBe(true);
  await storeRejects(db, [
    { source: 'transaction-list', orderNo: 'order-7', field: null, reason: 'odd', payload: '{}' },
  ]);
  expect(await areStored(again)).toBe(false);
});

test('[V12] undocumented fields that are no object are replaced, not extended with every answer', async () => {
  await query(`insert into ledger.final_states values ('success', true)`);
  await store([listed({ state: 'pending' })]);
  await query(`update ledger.transactions set extra = '["cut", "cut"]'`);
  const extra = '{"memo": "a"}';
  await store([listed({ state: 'success', extra, observation: 2 })]);
  expect(await readTransactions(fixture)).toMatchObject([{ extra }]);
  await query(`update ledger.transactions set extra = '"cut"'`);
  await storeTransactionDetails(db, [detailed({ state: 'success', extra, observation: 3 })]);
  expect(await readTransactions(fixture)).toMatchObject([{ extra }]);
});

test('an empty batch runs no statement', async () => {
  expect(await store([])).toEqual({ inserted: 0, updated: 0 });
});

test('[P18] each changed field is logged once, also the filling of an empty field, but not first sight', async () => {
  await store([listed({ amount: '1.0', state: 'pending' })]);
  await store([listed({ amount: '1.00', state: 'pending', observation: 2 })]);
  expect(await readChanges(fixture)).toEqual([]);
  await store([listed({ amount: '1.00', state: 'pending', txHash: '0x1', observation: 2 })]);
  await store([listed({ amount: '2.0', state: 'success', txHash: '0x2', observation: 3 })]);
  expect(await readChanges(fixture)).toEqual([
    { order_no: 'order-1', field: 'tx_hash', old_value: null, new_value: '0x1' },
    { order_no: 'order-1', field: 'tx_hash', old_value: '0x1', new_value: '0x2' },
    { order_no: 'order-1', field: 'amount', old_value: '1.0', new_value: '2.0' },
    { order_no: 'order-1', field: 'state', old_value: 'pending', new_value: 'success' },
  ]);
});

test('[P15] if an older answer contradicts a value that a later equal one confirmed, the detail is due at once', async () => {
  await query(`insert into ledger.final_states values ('success', true)`);
  await store([listed({ state: 'success', observation: 1 })]);
  await storeTransactionDetails(db, [detailed({ state: 'success', observation: 2 })]);
  await store([listed({ state: 'success', observation: 5 })]);
  await store([listed({ state: 'pending', observation: 4 })]);
  expect(await query('select due_at <= now() as is_due from ledger.waiting_details')).toEqual([
    { is_due: true },
  ]);
});

test('[V11] a late change re-opens a completed row and reclassifies its state', async () => {
  await query(`insert into ledger.final_states values ('success', true), ('failed', false)`);
  await store([listed({ state: ' Success ' })]);
  await storeTransactionDetails(db, [detailed({ state: 'success', fee: '0.1', confirmNum: 3 })]);
  const read = () =>
    query(`select state, is_final, fee, confirm_num
                  , not exists (select from ledger.waiting_details) as is_complete
             from ledger.transactions`);
  const kept = { fee: '0.1', confirm_num: 3 };
  expect(await read()).toEqual([{ state: 'success', is_final: true, is_complete: true, ...kept }]);
  await store([listed({ state: 'reorganised', observation: 3 })]);
  expect(await read()).toEqual([
    { state: 'reorganised', is_final: false, is_complete: false, ...kept },
  ]);
  await store([listed({ state: 'failed', observation: 4 })]);
  expect(await read()).toEqual([{ state: 'failed', is_final: true, is_complete: false, ...kept }]);
});

test('[P18] a row that two lists show stays in the first one, is marked, and ends both proofs', async () => {
  const streams = () =>
    query(`select name, ledger_count::int as count, conflicts::int, is_complete, not_complete_because as reason
             from ledger.streams order by name`);
  const changes = () =>
    query('select field, old_value, new_value from ledger.transaction_changes order by id');
  await store([listed({}), listed({ orderNo: 'order-2' })]);
  await store([listed({ orderNo: 'order-3', type: 'withdraw' })], 'withdraw');
  await query('update ledger.streams set is_backed = true, service_total = ledger_count');
  for (const observation of [2, 3, 4, 5]) {
    const list = observation % 2 === 0 ? 'withdraw' : 'deposit';
    await store([listed({ type: list, observation })], list);
  }
  const reason = '1 rows are shown by this list and by another one';
  const conflict = { conflicts: 1, is_complete: false, reason };
  expect(await streams()).toEqual([
    { name: 'deposit', count: 2, ...conflict },
    { name: 'withdraw', count: 1, ...conflict },
  ]);
  expect(
    await query('select order_no, stream, also_listed_in from ledger.transactions order by 1'),
  ).toEqual([
    { order_no: 'order-1', stream: 'deposit', also_listed_in: 'withdraw' },
    { order_no: 'order-2', stream: 'deposit', also_listed_in: null },
    { order_no: 'order-3', stream: 'withdraw', also_listed_in: null },
  ]);
  expect(await changes()).toEqual([]);
  await unlistRows(db, 'deposit', ['order-1']);
  expect(await streams()).toMatchObject([
    { name: 'deposit', count: 1, conflicts: 0 },
    { name: 'withdraw', count: 2, conflicts: 0 },
  ]);
  expect(await changes()).toEqual([
    { field: 'stream', old_value: 'deposit', new_value: 'withdraw' },
    { field: 'type', old_value: 'deposit', new_value: 'withdraw' },
  ]);
});

test('a row that two lists show belongs to the list of its type, whichever is read first', async () => {
  const row = (observation: number, type = 'Withdraw ') => listed({ type, observation });
  const read = () =>
    query(`select t.stream, t.also_listed_in, s.ledger_count::int as count, s.conflicts::int
             from ledger.transactions t join ledger.streams s on s.name = t.stream`);
  await store([row(1)]);
  await query(`update ledger.transactions set detail_synced_at = now(), seal = gen_random_uuid()`);
  for (const observation of [2, 4]) {
    await store([row(observation)], 'withdraw');
    await store([row(observation + 1)]);
    expect(await read()).toEqual([
      { stream: 'withdraw', also_listed_in: 'deposit', count: 1, conflicts: 1 },
    ]);
  }
  expect(await query('select field, old_value, new_value from ledger.transaction_changes')).toEqual(
    [{ field: 'stream', old_value: 'deposit', new_value: 'withdraw' }],
  );
  expect(await query(`select sum(ledger_count)::int as count from ledger.streams`)).toEqual([
    { count: 1 },
  ]);
  expect(
    await query(
      `select t.seal, c.turn from ledger.transactions t join engine.detail_checks c using (order_no)`,
    ),
  ).toEqual([{ seal: null, turn: 0 }]);
  // A pass over the deposits found it missing before the other pass moved it.
  await unlistRows(db, 'deposit', ['order-1']);
  expect(await read()).toMatchObject([{ stream: 'withdraw', also_listed_in: 'deposit' }]);
  await unlistRows(db, 'withdraw', ['order-1']);
  expect(await read()).toEqual([
    { stream: 'deposit', also_listed_in: null, count: 1, conflicts: 0 },
  ]);
  await unlistRows(db, 'withdraw', ['order-1']);
  expect(await read()).toMatchObject([{ stream: 'deposit', count: 1 }]);
});

test('a batch reads only its own rows, for any size of the ledger and any statistics of the planner', async () => {
  await query(`insert into ledger.transactions (order_no, stream, state, is_final, occurred_at, observation)
    select 'old' || i, 'deposit', 'success', true, timestamptz '2026-01-01' + i * interval '1 s', 1
      from generate_series(1, 40000) i`);
  await query('analyze ledger.transactions');
  const fresh = Array.from({ length: 1_500 }, (_, i) =>
    listed({ orderNo: `new${i}`, observation: 2 }),
  );
  const known = Array.from({ length: 500 }, (_, i) =>
    listed({ orderNo: `old${i + 1}`, observation: 2 }),
  );
  for (const stream of ['deposit', 'withdraw'] as const) {
    await ledger.transaction(async (transaction) => {
      const readInTurn = async () => {
        const { rows } = await transaction.execute(sql`
          select seq_tup_read::int as read from pg_stat_xact_user_tables
           where schemaname = 'ledger' and relname = 'transactions'`);
        return rows[0]?.['read'];
      };
      const before = await readInTurn();
      await areListedAsStored(transaction, stream, known.slice(0, 100));
      await storeListedTransactions(transaction, stream, [...fresh, ...known]);
      expect(await readInTurn()).toBe(before);
    });
  }
}, 60_000);

test('[V11] a row of an unknown type counts for the list that shows it', async () => {
  await store([listed({ type: 'refund' })], 'withdraw');
  expect(await query('select stream, type from ledger.transactions')).toEqual([
    { stream: 'withdraw', type: 'refund' },
  ]);
  expect(await readMiscounts(fixture)).toEqual([]);
});

test('[P17] a row that had vanished is listed and counted again, whatever its content', async () => {
  await store([listed({ amount: '1' })]);
  await query('update ledger.transactions set is_listed = false');
  await query('update ledger.streams set ledger_count = 0');
  expect(await store([listed({ amount: '1', observation: 2 })])).toEqual({
    inserted: 0,
    updated: 1,
  });
  expect(await readMiscounts(fixture)).toEqual([]);
  expect(await readChanges(fixture)).toEqual([
    { order_no: 'order-1', field: 'is_listed', old_value: 'false', new_value: 'true' },
  ]);
});

test('rows from before the first full scan ended are marked as back-filled, and later rows are not', async () => {
  await store([listed({ orderNo: 'a' })]);
  await store([listed({ orderNo: 'b', type: 'withdraw' })], 'withdraw');
  await query(`update ledger.streams set last_walk_at = now() where name = 'deposit'`);
  await store([listed({ orderNo: 'c' })]);
  await store([listed({ orderNo: 'd', type: 'withdraw' })], 'withdraw');
  await store([listed({ orderNo: 'a', state: 'success', observation: 2 })]);
  expect(await query('select order_no, is_backfilled from ledger.transactions order by 1')).toEqual(
    [
      { order_no: 'a', is_backfilled: true },
      { order_no: 'b', is_backfilled: true },
      { order_no: 'c', is_backfilled: false },
      { order_no: 'd', is_backfilled: true },
    ],
  );
});

test('[V14] a deposit makes its address used on every chain, in any case of letters; a withdrawal does not', async () => {
  for (const chain of [60, 195]) {
    await ledger.transaction((tx) => storeListedAddresses(tx, chain, ['0xAB', '0xcd']));
  }
  await query(`insert into ledger.final_states values ('success', true) on conflict do nothing`);
  await store([listed({ state: 'success', toAddress: '0xab' })]);
  await store([listed({ orderNo: 'order-2', toAddress: '0xcd', type: 'withdraw' })], 'withdraw');
  expect(
    await query(
      'select slip44, address, status, first_deposit_order_no as first from ledger.addresses order by 1, 2',
    ),
  ).toEqual(
    [60, 195].flatMap((slip44) => [
      { slip44, address: '0xAB', status: 'used', first: 'order-1' },
      { slip44, address: '0xcd', status: 'foreign', first: null },
    ]),
  );
});

test('[D4] concurrent writers of the same orders never deadlock, and end with the latest answers', async () => {
  const writers = [connect(), connect(), connect(), connect()];
  const orders = Array.from({ length: 40 }, (_, nth) => `order-${(nth * 7) % 40}`);
  await ledger.transaction((tx) =>
    storeListedAddresses(
      tx,
      60,
      orders.map((orderNo) => `to-${orderNo}`),
    ),
  );
  const rounds = 12;
  await query(`insert into ledger.final_states values ('success', true) on conflict do nothing`);
  const latest = new Map<string, number>();
  let inserted = 0;
  await Promise.all(
    writers.map(async (writer, lane) => {
      for (let round = 0; round < rounds; round += 1) {
        const from = (round * 11 + lane * 17) % orders.length;
        const turned = [...orders.slice(from), ...orders.slice(0, from)].slice(0, 30);
        const observation = round * writers.length + lane + 1;
        const rows = (lane % 2 ? turned : turned.reverse()).map((orderNo) =>
          listed({
            orderNo,
            observation,
            txHash: `version-${observation}`,
            type: observation % 5 ? 'deposit' : 'withdraw',
            state: 'success',
            toAddress: `to-${orderNo}`,
          }),
        );
        for (const { orderNo } of rows) {
          latest.set(orderNo, Math.max(observation, latest.get(orderNo) ?? 0));
        }
        const stored = await writer.transaction((tx) =>
          storeListedTransactions(tx, 'deposit', rows),
        );
        inserted += stored.inserted;
      }
    }),
  );
  expect(inserted).toBe(orders.length);
  // A statement that meets another one's first insert is run again, which is logged.
  expect(logged.filter((line) => !line.includes('another one stored the same rows'))).toEqual([]);
  expect(await readMiscounts(fixture)).toEqual([]);
  const found = await readTransactions(fixture);
  expect(found).toHaveLength(orders.length);
  for (const row of found) {
    expect(row['tx_hash']).toBe(`version-${latest.get(String(row['order_no']))}`);
  }
  expect(
    await query(`select count(*)::int as used from ledger.addresses where status = 'used'`),
  ).toEqual([{ used: orders.length }]);
});
