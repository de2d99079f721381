import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { unlistRows } from '../../src/ledger/lists/stream-store.ts';
import { fillTransactions } from '../../src/ledger/transactions/fill-transactions.ts';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { forAll } from '../support/for-all.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const { db } = ledger;
beforeEach(clear);

const start = Date.UTC(2026, 0, 1);
/** Longer than the period for which transactions_at does not trust changed_at. */
const stepMs = 36 * 3_600_000;
const timeOf = (step: number) => new Date(start + step * stepMs).toISOString();

const maybe = (...texts: string[]) => fc.option(fc.constantFrom(...texts));
const step = fc.record({
  kind: fc.constantFrom('list', 'list', 'detail', 'detail', 'unlist', 'fill'),
  orderNo: fc.constantFrom('a', 'b'),
  requestId: maybe('request-1'),
  txHash: maybe('0x1', '0x2'),
  toAddress: maybe('0xa'),
  type: maybe('deposit', 'withdraw', 'refund'),
  state: maybe('pending', 'success', `it's "odd"`),
  amount: maybe('1', '2.50', '12345678901234567890.1'),
  occurredAt: fc.option(fc.constantFrom(1_700_000_000_123, 1_700_000_000_124)),
  extra: maybe('{"memo": "a"}', '{"memo": "b"}', '{"tag": 1}'),
  unreadable: fc.option(fc.constant<string[]>(['txHash', 'amount', 'state', 'time']), {
    nil: undefined,
  }),
  fee: maybe('0', '0.1'),
  feeSymbol: maybe('ETH'),
  confirmNum: fc.option(fc.nat(9)),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function play({ kind, unreadable, ...seen }: Step, observation: number): Promise<void> {
  const { fee, feeSymbol, confirmNum, ...row } = {
    ...seen,
    ...(unreadable ? { unreadable } : {}),
    observation,
  };
  if (kind === 'unlist') return await unlistRows(db, 'deposit', [row.orderNo]);
  if (kind === 'list') await storeListedTransactions(db, 'deposit', [listed(row)]);
  const detail = detailed({ ...row, fee, feeSymbol, confirmNum });
  if (kind === 'detail') await storeTransactionDetails(db, [detail]);
  if (kind === 'fill') await fillTransactions(db, [detail]);
}

/**
 * Sets the time of the rows written last to that of their step, because the ledger stored them with the database's
 * clock.
 */
async function date(at: string): Promise<void> {
  const late = (column: string) => `${column} > now() - interval '1 day'`;
  await query(`
    update ledger.transaction_changes set observed_at = '${at}' where ${late('observed_at')};
    ${['changed_at', 'first_seen_at', 'first_detail_at']
      .map((name) => `update ledger.transactions set ${name} = '${at}' where ${late(name)};`)
      .join('')}`);
}

const read = (from: string) =>
  query(`select order_no, stream, request_id, symbol, tx_hash, from_address, to_address, amount::text, type, state,
                fee::text, fee_symbol, occurred_at::text, is_final, is_listed, extra
           from ${from} order by order_no`);

test('transactions_at returns the content of the table at each moment, after any later changes', async () => {
  await forAll(fc.array(step, { minLength: 1, maxLength: 14 }))(25, async (steps) => {
    await clear();
    await reclassifyByStates(ledger, {
      final: new Set(['success']),
      success: new Set(['success']),
    });
    const held: unknown[] = [];
    for (const [index, one] of steps.entries()) {
      await play(one, index + 1);
      await date(timeOf(index));
      held.push(await read('ledger.transactions'));
    }
    for (const [index, rows] of held.entries())
      expect(await read(`ledger.transactions_at('${timeOf(index + 0.5)}')`)).toEqual(rows);
    expect(await read(`ledger.transactions_at('${timeOf(-1)}')`)).toEqual([]);
  });
}, 60_000);

test('confirmations are unknown before the first detail', async () => {
  await play({ ...bare, kind: 'list' }, 1);
  await date(timeOf(0));
  await play({ ...bare, kind: 'detail', confirmNum: 3 }, 2);
  await date(timeOf(1));
  const confirmations = (at: number) =>
    query(`select confirm_num from ledger.transactions_at('${timeOf(at)}')`);
  expect(await confirmations(0.5)).toEqual([{ confirm_num: null }]);
  expect(await confirmations(1.5)).toEqual([{ confirm_num: 3 }]);
});

const bare: Step = {
  kind: 'list',
  orderNo: 'a',
  requestId: null,
  txHash: null,
  toAddress: null,
  type: 'deposit',
  state: 'pending',
  amount: '1',
  occurredAt: null,
  extra: null,
  unreadable: undefined,
  fee: null,
  feeSymbol: null,
  confirmNum: null,
};

test('the rows that were final at a moment stay the same after the final states are changed and changed back', async () => {
  const classify = (...final: string[]) =>
    reclassifyByStates(ledger, { final: new Set(final), success: new Set() });
  await classify('success');
  await storeListedTransactions(db, 'deposit', [
    listed({ orderNo: 'a', state: 'success' }),
    listed({ orderNo: 'b', state: 'settled' }),
    listed({ orderNo: 'c', state: 'pending' }),
  ]);
  const finalAt = async (at: string) =>
    (
      await query<{ orders: string | null }>(
        `select string_agg(order_no, ' ' order by order_no) filter (where is_final) as orders from ledger.transactions_at('${at}')`,
      )
    )[0]?.orders;
  const now = async () => String((await query('select clock_timestamp()::text as at'))[0]?.['at']);
  const first = await now();
  await classify('success', 'settled');
  const second = await now();
  await classify('pending');
  const third = await now();
  await storeListedTransactions(db, 'deposit', [
    listed({ orderNo: 'c', state: 'success', observation: 2 }),
  ]);
  await classify('success');
  const fourth = await now();
  expect([
    await finalAt(first),
    await finalAt(second),
    await finalAt(third),
    await finalAt(fourth),
  ]).toEqual(['a', 'a b', 'c', 'a c']);
});
