import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { storeListedAddresses } from '../../src/ledger/addresses/address-store.ts';
import {
  type ListedTransaction,
  storeListedTransactions,
} from '../../src/ledger/transactions/store-listed-transactions.ts';
import {
  claimDueDetails,
  countIncomplete,
  type DetailedTransaction,
  postponeDetails,
  releaseDetails,
  storeTransactionDetails,
} from '../../src/ledger/transactions/store-transaction-details.ts';
import {
  cutIntoBatches,
  decimals,
  detailed,
  hostileText,
  listed,
  readChanges,
  readMiscounts,
  readTransactions,
} from './transaction-rows.ts';
import { withLedger } from './with-ledger.ts';

const fixture = await withLedger();
const { ledger, connect, query, clear, logged } = fixture;
const { db } = ledger;
beforeEach(clear);

const list = (rows: ListedTransaction[]) =>
  ledger.transaction((tx) => storeListedTransactions(tx, 'deposit', rows));
const detail = (rows: DetailedTransaction[]) =>
  ledger.transaction((tx) => storeTransactionDetails(tx, rows));

async function setFinal(...states: string[]): Promise<void> {
  for (const state of states) {
    await query(`insert into ledger.final_states values ('${state}', true)`);
  }
}

/** When the rows are due: seconds from now, rounded; null when nothing is left to fetch. */
function readDue() {
  return query<{ order_no: string; due: number | null; is_final: boolean }>(`
    select order_no, round(extract(epoch from next_check_at - now()))::int as due, is_final
      from ledger.transactions order by order_no`);
}

describe('any permutation, repetition and batching of details', () => {
  const versions = fc
    .array(
      fc.record({
        order: fc.nat(3),
        confirmNum: fc.nat(100),
        fee: fc.nat(decimals.length - 3),
        state: fc.constantFrom('pending', 'success'),
      }),
      { minLength: 1, maxLength: 12 },
    )
    .map((events) =>
      events.map(({ order, confirmNum, fee, state }, index) =>
        detailed({
          orderNo: `order-${order}`,
          observation: index + 2,
          txHash: `version-${index}`,
          confirmNum,
          fee: decimals[fee]?.[0] ?? null,
          feeSymbol: 'ETH',
          state,
        }),
      ),
    );
  const batched = versions.chain((all) =>
    fc.tuple(
      fc.constant(all),
      fc
        .tuple(
          fc.shuffledSubarray(all, { minLength: all.length }),
          fc.subarray(all),
          fc.array(fc.nat(30), { maxLength: 6 }),
        )
        .map(([shuffled, again, cuts]) => cutIntoBatches([...shuffled, ...again], cuts)),
    ),
  );

  test('[P14] ends with what the latest one said of each order, due again unless that is final', async () => {
    await fc.assert(
      fc.asyncProperty(batched, async ([all, batches]) => {
        await clear();
        await setFinal('success');
        const orderNos = ['order-0', 'order-1', 'order-2', 'order-3'].filter((orderNo) =>
          all.some((row) => row.orderNo === orderNo),
        );
        await list(orderNos.map((orderNo) => listed({ orderNo, symbol: 'ETH', toAddress: '0x1' })));
        const newest = new Map<string, number>();
        let expected = 0;
        let changed = 0;
        for (const batch of batches) {
          const before = new Map(newest);
          for (const { orderNo, observation } of batch) {
            newest.set(orderNo, Math.max(observation, newest.get(orderNo) ?? 0));
          }
          expected += [...newest].filter(([orderNo, at]) => before.get(orderNo) !== at).length;
          changed += await detail(batch);
        }
        expect(changed).toBe(expected);
        const latest = new Map(all.map((row) => [row.orderNo, row]));
        expect(await readTransactions(fixture)).toMatchObject(
          orderNos.map((orderNo) => {
            const row = latest.get(orderNo);
            return {
              order_no: orderNo,
              symbol: 'ETH',
              to_address: '0x1',
              tx_hash: row?.txHash,
              state: row?.state,
              confirm_num: String(row?.confirmNum),
              fee: decimals.find(([given]) => given === row?.fee)?.[1],
              fee_symbol: 'ETH',
              observation: String(row?.observation),
            };
          }),
        );
        expect(await readDue()).toEqual(
          orderNos.map((orderNo) => {
            const isFinal = latest.get(orderNo)?.state === 'success';
            return { order_no: orderNo, due: isFinal ? null : 15, is_final: isFinal };
          }),
        );
      }),
      { numRuns: 100 },
    );
  });

  test('stores hostile text as it came', async () => {
    const texts = fc.tuple(hostileText, hostileText, hostileText, hostileText);
    await fc.assert(
      fc.asyncProperty(texts, async ([orderNo, feeSymbol, state, key]) => {
        await clear();
        await list([listed({ orderNo })]);
        await detail([
          detailed({ orderNo, feeSymbol, state, extra: JSON.stringify({ [key]: key }) }),
        ]);
        const [row] = await readTransactions(fixture);
        expect(row).toMatchObject({ order_no: orderNo, fee_symbol: feeSymbol, state });
        expect(JSON.parse(row?.['extra'] ?? '')).toEqual(
          JSON.parse(JSON.stringify({ [key]: key })),
        );
      }),
      { numRuns: 60 },
    );
  });
});

test('[V3 V4 V5] fees are kept digit for digit, however long', async () => {
  const rows = decimals.map(([fee], nth) => detailed({ orderNo: `order-${nth}`, fee }));
  await list(rows.map(({ orderNo }) => listed({ orderNo })));
  await detail(rows);
  expect((await readTransactions(fixture)).map((row) => row['fee'])).toEqual(
    decimals.map(([, stored]) => stored),
  );
});

test('[P16] a list row blanks nothing that a detail brought, and a detail nothing that a list row brought', async () => {
  await list([listed({ amount: '1' })]);
  const brought = { fee: '0.10', feeSymbol: 'ETH', confirmNum: 7, txHash: '0x1' };
  await detail([detailed({ ...brought, extra: '{"memo":"x"}' })]);
  await list([listed({ amount: '1', state: 'pending', extra: '{"tag":1}', observation: 3 })]);
  expect(await readTransactions(fixture)).toMatchObject([
    {
      amount: '1',
      fee: '0.10',
      fee_symbol: 'ETH',
      confirm_num: '7',
      tx_hash: '0x1',
      state: 'pending',
      extra: '{"tag": 1, "memo": "x"}',
    },
  ]);
  await detail([detailed({ observation: 4 })]);
  expect(await readTransactions(fixture)).toMatchObject([
    {
      amount: '1',
      fee: null,
      fee_symbol: null,
      confirm_num: null,
      tx_hash: null,
      state: 'pending',
    },
  ]);
});

test('[P14] a detail older than the list row is left aside, and the row stays due', async () => {
  await setFinal('success');
  await list([listed({ state: 'pending', observation: 5 })]);
  expect(await detail([detailed({ state: 'success', fee: '1', observation: 4 })])).toBe(0);
  expect(await readTransactions(fixture)).toMatchObject([{ state: 'pending', fee: null }]);
  expect(await readDue()).toEqual([{ order_no: 'order-1', due: 0, is_final: false }]);
});

test('a state is final in whatever case and between whatever blanks it is written', async () => {
  await setFinal('success');
  await list([listed({ state: ' SUCCESS ' })]);
  expect(await readDue()).toEqual([{ order_no: 'order-1', due: 0, is_final: true }]);
  await detail([detailed({ state: 'Success ' })]);
  expect(await readDue()).toEqual([{ order_no: 'order-1', due: null, is_final: true }]);
});

test('a detail of an order that the ledger does not hold changes nothing', async () => {
  expect(await detail([detailed({ orderNo: 'unheard of' })])).toBe(0);
  expect(await readTransactions(fixture)).toEqual([]);
});

test('a rising number of confirmations is no change, a falling one is', async () => {
  await list([listed({})]);
  for (const [index, confirmNum] of [1, 2, 9, 3, 3].entries()) {
    await detail([detailed({ confirmNum, observation: index + 2 })]);
  }
  expect(await readChanges(fixture)).toEqual([
    { order_no: 'order-1', field: 'confirm_num', old_value: '9', new_value: '3' },
  ]);
});

test('each changed field is logged once, filling an empty one is not', async () => {
  await list([listed({ state: 'pending' })]);
  await detail([detailed({ state: 'pending', fee: '1.0', feeSymbol: 'ETH' })]);
  await detail([detailed({ state: 'pending', fee: '1.00', feeSymbol: 'ETH', observation: 3 })]);
  expect(await readChanges(fixture)).toEqual([]);
  await detail([detailed({ state: 'success', fee: '2', feeSymbol: 'ETH', observation: 4 })]);
  expect(await readChanges(fixture)).toEqual([
    { order_no: 'order-1', field: 'state', old_value: 'pending', new_value: 'success' },
    { order_no: 'order-1', field: 'fee', old_value: '1.00', new_value: '2' },
  ]);
});

test.each([
  ['10 seconds', 15],
  ['10 minutes', 300],
  ['1 day', 3_600],
])('a row that has stood still for %s is due again in %i seconds', async (still, due) => {
  await list([listed({ state: 'pending' })]);
  await query(`update ledger.transactions set changed_at = now() - interval '${still}'`);
  expect(await detail([detailed({ state: 'pending' })])).toBe(0);
  expect(await readDue()).toMatchObject([{ due }]);
  await detail([detailed({ state: 'confirming', observation: 3 })]);
  expect(await readDue()).toMatchObject([{ due: 15 }]);
});

test('an address that only the detail tells of becomes used', async () => {
  await setFinal('success');
  await ledger.transaction((tx) => storeListedAddresses(tx, 60, ['0xAB']));
  await list([listed({ toAddress: null })]);
  await detail([detailed({ toAddress: '0xab', state: 'success' })]);
  expect(
    await query('select status, first_deposit_order_no as first from ledger.addresses'),
  ).toEqual([{ status: 'used', first: 'order-1' }]);
});

describe('claims', () => {
  const orders = Array.from({ length: 60 }, (_, nth) => `order-${nth + 100}`);
  const listAll = () => list(orders.map((orderNo) => listed({ orderNo })));

  test('of several workers at once never overlap', async () => {
    await listAll();
    const workers = [connect(), connect(), connect(), connect()];
    const claimed = await Promise.all(
      workers.map(async (worker) => {
        const own: string[] = [];
        for (;;) {
          const more = await claimDueDetails(worker.db, 7, 60_000);
          if (more.length === 0) return own;
          own.push(...more);
        }
      }),
    );
    expect(claimed.flat().sort()).toEqual(orders);
    expect(await claimDueDetails(db, 7, 60_000)).toEqual([]);
  });

  test('come back after the lease, and at once when given back', async () => {
    await list([listed({})]);
    expect(await claimDueDetails(db, 10, 100)).toEqual(['order-1']);
    expect(await claimDueDetails(db, 10, 100)).toEqual([]);
    await vi.waitFor(async () => {
      expect(await claimDueDetails(db, 10, 60_000)).toEqual(['order-1']);
    });
    await releaseDetails(db, ['order-1']);
    expect(await claimDueDetails(db, 10, 60_000)).toEqual(['order-1']);
  });

  test('take the oldest due first', async () => {
    await listAll();
    await query(`update ledger.transactions set next_check_at = now() - interval '1 hour'
                  where order_no in ('order-131', 'order-142')`);
    expect(new Set(await claimDueDetails(db, 2, 60_000))).toEqual(
      new Set(['order-131', 'order-142']),
    );
  });

  test('leave out completed rows, and a release does not open them again', async () => {
    await setFinal('success');
    await list([listed({})]);
    await detail([detailed({ state: 'success' })]);
    await releaseDetails(db, ['order-1']);
    expect(await claimDueDetails(db, 10, 60_000)).toEqual([]);
    expect(await countIncomplete(db)).toEqual({ due: 0, incomplete: 0, finalIncomplete: 0 });
  });

  test('of rows without a detail are put off as if unchanged', async () => {
    await list([listed({})]);
    await postponeDetails(db, ['order-1']);
    await postponeDetails(db, []);
    await releaseDetails(db, []);
    expect(await readDue()).toMatchObject([{ due: 15 }]);
    expect(await countIncomplete(db)).toEqual({ due: 0, incomplete: 1, finalIncomplete: 0 });
  });
});

test('details and list rows written at once never deadlock, and the latest answer stands', async () => {
  const orders = Array.from({ length: 30 }, (_, nth) => `order-${nth}`);
  await list(orders.map((orderNo) => listed({ orderNo })));
  const writers = [connect(), connect(), connect(), connect()];
  const rounds = 12;
  await Promise.all(
    writers.map(async (writer, lane) => {
      for (let round = 0; round < rounds; round += 1) {
        const observation = 2 + round * writers.length + lane;
        const given = { observation, txHash: `version-${observation}` };
        const turned = lane < 2 ? orders : [...orders].reverse();
        await writer.transaction(async (tx) =>
          lane % 2
            ? storeTransactionDetails(
                tx,
                turned.map((orderNo) => detailed({ orderNo, ...given })),
              )
            : storeListedTransactions(
                tx,
                'deposit',
                turned.map((orderNo) => listed({ orderNo, ...given })),
              ),
        );
      }
    }),
  );
  expect(logged).toEqual([]);
  expect(await readMiscounts(fixture)).toEqual([]);
  const last = 1 + rounds * writers.length;
  for (const row of await readTransactions(fixture)) {
    expect(row).toMatchObject({ tx_hash: `version-${last}`, observation: String(last) });
  }
});
