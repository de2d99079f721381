import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { storeListedAddresses } from '../../src/ledger/addresses/address-store.ts';
import type { LedgerDb } from '../../src/ledger/connection/connect-ledger.ts';
import { countIncomplete } from '../../src/ledger/transactions/count-waiting.ts';
import {
  type ClaimedDetail,
  claimDueDetails,
  postponeDetails,
  releaseDetails,
  rescheduleDetails,
} from '../../src/ledger/transactions/detail-checks.ts';
import {
  type ListedTransaction,
  storeListedTransactions,
} from '../../src/ledger/transactions/store-listed-transactions.ts';
import {
  type DetailedTransaction,
  storeTransactionDetails,
} from '../../src/ledger/transactions/store-transaction-details.ts';
import { forAll } from '../support/for-all.ts';
import {
  cutIntoBatches,
  decimals,
  detailed,
  hostileText,
  listed,
  newClaim,
  readChanges,
  readMiscounts,
  readTransactions,
} from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

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

/** Times at which the rows are due: seconds from now, rounded; null if nothing is left to fetch. */
function readDue() {
  return query<{ order_no: string; due: number | null; is_final: boolean }>(`
    select t.order_no, round(extract(epoch from c.due_at - now()))::int as due, t.is_final
      from ledger.transactions t left join ledger.waiting_details c using (order_no) order by 1`);
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

  test('[P14] ends with the latest detail for each order, which is due again unless it is final', async () => {
    await forAll(batched)(100, async ([all, batches]) => {
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
    });
  });

  test('stores hostile text unchanged', async () => {
    const texts = fc.tuple(hostileText, hostileText, hostileText, hostileText);
    await forAll(texts)(60, async ([orderNo, feeSymbol, state, key]) => {
      await clear();
      await list([listed({ orderNo })]);
      await detail([
        detailed({ orderNo, feeSymbol, state, extra: JSON.stringify({ [key]: key }) }),
      ]);
      const [row] = await readTransactions(fixture);
      expect(row).toMatchObject({ order_no: orderNo, fee_symbol: feeSymbol, state });
      expect(JSON.parse(row?.['extra'] ?? '')).toEqual(JSON.parse(JSON.stringify({ [key]: key })));
    });
  });
});

test('[V3 V4 V5] fees are stored digit for digit, at any length', async () => {
  const rows = decimals.map(([fee], nth) => detailed({ orderNo: `order-${nth}`, fee }));
  await list(rows.map(({ orderNo }) => listed({ orderNo })));
  await detail(rows);
  expect((await readTransactions(fixture)).map((row) => row['fee'])).toEqual(
    decimals.map(([, stored]) => stored),
  );
});

test('[P16] a list row clears no field of the detail, and a detail no field of the list row', async () => {
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

test('undocumented fields of a first detail count as a change only if the list has some', async () => {
  const [bare, tagged] = ['order-1', 'order-2'];
  await list([listed({ orderNo: bare }), listed({ orderNo: tagged, extra: '{"tag":1}' })]);
  const extra = '{"memo":"x"}';
  await detail([detailed({ orderNo: bare, extra }), detailed({ orderNo: tagged, extra })]);
  expect(
    await query('select order_no, field, old_value, new_value from ledger.transaction_changes'),
  ).toEqual([
    {
      order_no: tagged,
      field: 'extra',
      old_value: '{"tag": 1}',
      new_value: '{"tag": 1, "memo": "x"}',
    },
  ]);
});

test('the type of a row is that of the list, whatever its detail contains', async () => {
  await list([listed({ type: 'deposit' })]);
  await detail([detailed({ type: 'withdraw' })]);
  expect(await readTransactions(fixture)).toMatchObject([{ type: 'deposit', stream: 'deposit' }]);
  expect(await query('select from ledger.transaction_changes')).toEqual([]);
});

test('[P14] a detail older than the list row is ignored, and the row stays due', async () => {
  await setFinal('success');
  await list([listed({ state: 'pending', observation: 5 })]);
  expect(await detail([detailed({ state: 'success', fee: '1', observation: 4 })])).toBe(0);
  expect(await readTransactions(fixture)).toMatchObject([{ state: 'pending', fee: null }]);
  expect(await readDue()).toEqual([{ order_no: 'order-1', due: 0, is_final: false }]);
});

test('a state is final in upper and lower case and with surrounding blanks', async () => {
  await setFinal('success');
  await list([listed({ state: ' SUCCESS ' })]);
  expect(await readDue()).toEqual([{ order_no: 'order-1', due: 0, is_final: true }]);
  await detail([detailed({ state: 'Success ' })]);
  expect(await readDue()).toEqual([{ order_no: 'order-1', due: null, is_final: true }]);
});

test('a detail of an order that the ledger does not have changes nothing', async () => {
  expect(await detail([detailed({ orderNo: 'unheard of' })])).toBe(0);
  expect(await readTransactions(fixture)).toEqual([]);
});

test('a rising number of confirmations is no change, and a falling one is', async () => {
  await list([listed({})]);
  for (const [index, confirmNum] of [1, 2, 9, 3, 3].entries()) {
    await detail([detailed({ confirmNum, observation: index + 2 })]);
  }
  expect(await readChanges(fixture)).toEqual([
    { order_no: 'order-1', field: 'confirm_num', old_value: '9', new_value: '3' },
  ]);
});

test('each changed field is logged once, and filling an empty one is not logged', async () => {
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
])('a row that has not changed for %s is due again in %i seconds', async (still, due) => {
  await list([listed({ state: 'pending' })]);
  await query(`update ledger.transactions set changed_at = now() - interval '${still}'`);
  expect(await detail([detailed({ state: 'pending' })])).toBe(0);
  expect(await readDue()).toMatchObject([{ due }]);
  await detail([detailed({ state: 'confirming', observation: 3 })]);
  expect(await readDue()).toMatchObject([{ due: 15 }]);
});

test('an address that only the detail contains becomes used', async () => {
  await setFinal('success');
  await ledger.transaction((tx) => storeListedAddresses(tx, 60, ['0xAB']));
  await list([listed({ toAddress: null })]);
  await detail([detailed({ toAddress: '0xab', state: 'success' })]);
  expect(
    await query('select status, first_deposit_order_no as first from ledger.addresses'),
  ).toEqual([{ status: 'used', first: 'order-1' }]);
});

test('a detail without news writes only the next check, which an older answer does not undo', async () => {
  await list([listed({ state: 'pending' })]);
  await detail([detailed({ state: 'pending', observation: 2 })]);
  const version = () => query('select xmin::text, ctid::text, * from ledger.transactions');
  const before = await version();
  expect(await detail([detailed({ state: 'pending', observation: 9 })])).toBe(0);
  expect(await readDue()).toMatchObject([{ due: 15 }]);
  await detail([detailed({ state: 'older', observation: 8 })]);
  await list([listed({ state: 'older', observation: 7 })]);
  expect(await version()).toEqual(before);
  await list([listed({ state: 'newer', observation: 10 })]);
  expect(await version()).toMatchObject([{ state: 'newer' }]);
});

const ordersOf = (claimed: ClaimedDetail[], wanted: ClaimedDetail['lane']) =>
  claimed.filter(({ lane }) => lane === wanted).map(({ orderNo }) => orderNo);

test('a schedule that does not match the transactions is corrected', async () => {
  await setFinal('success');
  await query(`insert into ledger.streams (name, last_walk_at) values ('deposit', now())
    on conflict (wallet, name) do update set last_walk_at = now()`);
  await list([
    listed({ orderNo: 'open', state: 'pending' }),
    listed({ orderNo: 'final', state: 'success' }),
    listed({ orderNo: 'done', state: 'success' }),
  ]);
  await detail([detailed({ orderNo: 'done', state: 'success' })]);
  const waiting = async () =>
    (await query('select order_no from ledger.waiting_details order by 1')).map(
      (row) => row['order_no'],
    );
  const before = await waiting();
  expect(before).toEqual(['final', 'open']);
  await query(`delete from engine.detail_checks;
    insert into engine.detail_checks (order_no, is_final, turn) values ('of another time', true, 0)`);
  await rescheduleDetails(db);
  expect(await waiting()).toEqual(before);
});

describe('claims of details', () => {
  const claim = async (of: LedgerDb, limit: number, leaseMs: number) => {
    const claimed = await claimDueDetails(of, limit, newClaim(leaseMs));
    return claimed.map(({ orderNo }) => orderNo);
  };
  const orders = Array.from({ length: 60 }, (_, nth) => `order-${nth + 100}`);
  const listAll = () => list(orders.map((orderNo) => listed({ orderNo })));

  test('of the history are empty only once all of it is claimed, for any number of concurrent workers', async () => {
    await setFinal('success');
    await query(`insert into ledger.transactions (order_no, stream, state, is_final, is_backfilled, occurred_at, observation)
                 select 'o' || n, 'deposit', 'success', true, true, now() - n * interval '1 s', 1 from generate_series(1, 400) as n`);
    const workers = [connect(), connect(), connect(), connect()];
    for (let round = 0; round < 10; round += 1) {
      const claimed = await Promise.all(workers.map(({ db }) => claim(db, 10, 60_000)));
      expect(claimed.map(({ length }) => length)).toEqual([10, 10, 10, 10]);
    }
    expect(await claim(db, 10, 60_000)).toEqual([]);
  });

  test('of concurrent workers never overlap', async () => {
    await listAll();
    const workers = [connect(), connect(), connect(), connect()];
    const claimed = await Promise.all(
      workers.map(async (worker) => {
        const own: string[] = [];
        for (;;) {
          const more = await claim(worker.db, 7, 60_000);
          if (more.length === 0) return own;
          own.push(...more);
        }
      }),
    );
    expect(claimed.flat().sort()).toEqual(orders);
    expect(await claim(db, 7, 60_000)).toEqual([]);
  });

  test('end after the lease, or at once when released', async () => {
    await list([listed({})]);
    expect(await claim(db, 10, 100)).toEqual(['order-1']);
    expect(await claim(db, 10, 100)).toEqual([]);
    const first = newClaim();
    await vi.waitFor(async () => {
      expect(await claimDueDetails(db, 10, first)).toHaveLength(1);
    });
    await releaseDetails(db, first.id);
    expect(await claim(db, 10, 60_000)).toEqual(['order-1']);
  });

  test('can be released late without releasing the claim of another worker', async () => {
    await list([listed({})]);
    const [late, other] = [newClaim(100), newClaim()];
    expect(await claimDueDetails(db, 10, late)).toHaveLength(1);
    await vi.waitFor(async () => {
      expect(await claimDueDetails(db, 10, other)).toHaveLength(1);
    });
    await releaseDetails(db, late.id);
    expect(await claim(db, 10, 60_000)).toEqual([]);
    await releaseDetails(db, other.id);
    expect(await claim(db, 10, 60_000)).toEqual(['order-1']);
  });

  test('take open, new and changed rows before the history, which keeps a share of an eighth', async () => {
    await setFinal('success');
    const rows = Array.from({ length: 50 }, (_, nth) => `order-${nth + 100}`);
    const fresh = Array.from({ length: 10 }, (_, nth) => `order-${nth + 300}`);
    await list(rows.map((orderNo) => listed({ orderNo, state: 'success' })));
    await list([listed({ orderNo: 'order-200', state: 'pending' })]);
    await query(`update ledger.streams set last_walk_at = now() where name = 'deposit'`);
    await list(fresh.map((orderNo) => listed({ orderNo, state: 'success' })));
    await list([listed({ orderNo: 'order-130', state: 'Success', observation: 2 })]);
    const counts = (claimed: ClaimedDetail[]) =>
      (['current', 'backlog'] as const).map((lane) => ordersOf(claimed, lane).length);
    const claims = [
      await claimDueDetails(db, 8, newClaim()),
      await claimDueDetails(db, 8, newClaim()),
    ];
    expect(claims.map(counts)).toEqual([
      [7, 1],
      [5, 3],
    ]);
    const current = ['order-130', 'order-200', ...fresh].sort();
    expect(claims.flatMap((one) => ordersOf(one, 'current')).sort()).toEqual(current);
    expect(counts(await claimDueDetails(db, 100, newClaim()))).toEqual([0, 45]);
  });

  test('take the rows that are due longest first', async () => {
    await listAll();
    await query(`update engine.detail_checks set due_at = now() - interval '1 hour'
                  where order_no in ('order-131', 'order-142')`);
    expect(new Set(await claim(db, 2, 60_000))).toEqual(new Set(['order-131', 'order-142']));
  });

  test('exclude completed rows, also after a release', async () => {
    await setFinal('success');
    await list([listed({})]);
    const last = newClaim();
    expect(await claimDueDetails(db, 10, last)).toHaveLength(1);
    await detail([detailed({ state: 'success' })]);
    await releaseDetails(db, last.id);
    expect(await claim(db, 10, 60_000)).toEqual([]);
    expect(await countIncomplete(db)).toEqual({ incomplete: 0, finalIncomplete: 0 });
  });

  const refused = { orderNo: 'order-1', reason: 'no' };

  test('are not postponed by a refusal that is older than their change or their claim', async () => {
    await list([listed({})]);
    const first = newClaim();
    expect(await claimDueDetails(db, 10, first)).toHaveLength(1);
    await list([listed({ state: 'other', observation: 2 })]);
    await postponeDetails(db, [refused], first.id);
    expect(await readDue()).toMatchObject([{ due: 0 }]);
    const second = newClaim();
    expect(await claimDueDetails(db, 10, second)).toHaveLength(1);
    await postponeDetails(db, [refused], first.id);
    expect(await claimDueDetails(db, 10, newClaim())).toEqual([]);
    await postponeDetails(db, [refused], second.id);
    expect(await readDue()).toMatchObject([{ due: 15 }]);
  });

  test('of rows without a detail are postponed, longer each time, and come after the history', async () => {
    await list([listed({}), listed({ orderNo: 'order-2' })]);
    const { id } = newClaim();
    const putOff = async () => {
      await query(
        `update engine.detail_checks set claim = '${id}', claimed_until = now(), due_at = now()`,
      );
      await postponeDetails(db, [refused], id);
    };
    await postponeDetails(db, [], id);
    for (const due of [15, 30, 60, 120]) {
      await putOff();
      expect(await readDue()).toMatchObject([{ due }, { due: 0 }]);
    }
    expect(await countIncomplete(db)).toEqual({ incomplete: 2, finalIncomplete: 0 });
    for (let nth = 0; nth < 30; nth += 1) await putOff();
    expect(await readDue()).toMatchObject([{ due: 2 * 86_400 }, { due: 0 }]);
    await query(
      `update engine.detail_checks set due_at = now() - interval '1 hour' where order_no = 'order-1'`,
    );
    expect(await claimDueDetails(db, 10, newClaim())).toEqual([
      { orderNo: 'order-2', lane: 'current', isRefused: false },
      { orderNo: 'order-1', lane: 'backlog', isRefused: true },
    ]);
    await list([listed({ state: 'other', observation: 2 })]);
    expect(await claimDueDetails(db, 10, newClaim())).toEqual([
      { orderNo: 'order-1', lane: 'current', isRefused: false },
    ]);
  });

  test('leave rows that the service refuses repeatedly to the next pass', async () => {
    await list([listed({}), listed({ orderNo: 'order-2' })]);
    const claimAfter = async (passAgeMs: number) => {
      const own = newClaim();
      const claimed = await claimDueDetails(db, 10, own, passAgeMs);
      await postponeDetails(db, [refused], own.id);
      await releaseDetails(db, own.id);
      await query(`update engine.detail_checks set due_at = now() where order_no = 'order-1'`);
      return claimed.map(({ orderNo }) => orderNo).sort();
    };
    for (let nth = 0; nth < 3; nth += 1)
      expect(await claimAfter(60_000)).toEqual(['order-1', 'order-2']);
    expect(await claimAfter(60_000)).toEqual(['order-2']);
    expect(await claimAfter(0)).toEqual(['order-1', 'order-2']);
  });
});

test('details and list rows written concurrently never deadlock, and the latest answer wins', async () => {
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
