import fc from 'fast-check';
import { expect, test } from 'vitest';
import { storeBalances } from '../../src/ledger/balance-store.ts';
import { judgeByStates } from '../../src/ledger/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/store-transaction-details.ts';
import { detailed, listed } from './transaction-rows.ts';
import { withLedger } from './with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const { db } = ledger;
const start = Date.UTC(2026, 0, 1);
/** Longer than transactions_at distrusts changed_at for. */
const stepMs = 36 * 3_600_000;
const timeOf = (step: number) => new Date(start + step * stepMs).toISOString();
const runs = { numRuns: 25 };

type Step = {
  kind: 'list' | 'detail';
  orderNo: string;
  state: string;
  amount: string;
  txHash: string;
  fee: string;
};
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('list', 'list', 'detail'),
  orderNo: fc.constantFrom('a', 'b', 'c'),
  state: fc.constantFrom('pending', 'confirming', 'success', `it's "odd"`),
  amount: fc.constantFrom('1', '2.50', '12345678901234567890.1'),
  txHash: fc.constantFrom('0x1', '0x2'),
  fee: fc.constantFrom('0', '0.1'),
});
type Known = Omit<Step, 'kind'>;

/** What was written last is given the time of its step: the ledger's own clock has no part in it. */
async function date(at: string): Promise<void> {
  await query(`update ledger.transaction_changes set observed_at = '${at}' where observed_at > now() - interval '1 day';
    update ledger.balance_changes set observed_at = '${at}' where observed_at > now() - interval '1 day';
    update ledger.transactions set changed_at = '${at}' where changed_at > now() - interval '1 day';
    update ledger.transactions set first_seen_at = '${at}' where first_seen_at > now() - interval '1 day'`);
}

async function write({ kind, fee, ...seen }: Step, observation: number): Promise<void> {
  if (kind === 'list')
    await storeListedTransactions(db, 'deposit', [listed({ ...seen, observation })]);
  else
    await storeTransactionDetails(db, [detailed({ ...seen, fee, feeSymbol: 'ETH', observation })]);
}

/** The rows after each step; a fee is known backwards too, for filling it is not logged. */
function replay(steps: Step[]): Map<string, Known>[] {
  const now = new Map<string, Known>();
  const history = steps.map(({ kind, ...seen }) => {
    const known = now.get(seen.orderNo);
    const fee = kind === 'detail' ? seen.fee : (known?.fee ?? '');
    if (known || kind === 'list') now.set(seen.orderNo, { ...seen, fee });
    return new Map(now);
  });
  let later = now;
  return history
    .reverse()
    .map((rows) => {
      const filled = [...rows].map(([key, row]): [string, Known] => [
        key,
        { ...row, fee: row.fee || (later.get(key)?.fee ?? '') },
      ]);
      later = new Map(filled);
      return later;
    })
    .reverse();
}

test('transactions_at is what a replay of all that was seen gives for every moment', async () => {
  await judgeByStates(ledger, { final: new Set(['success']), success: new Set(['success']) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      await clear();
      await judgeByStates(ledger, { final: new Set(['success']), success: new Set(['success']) });
      for (const [index, one] of steps.entries()) {
        await write(one, index + 1);
        await date(timeOf(index));
      }
      const expected = replay(steps);
      for (const [index, rows] of expected.entries()) {
        const found =
          await query(`select order_no, state, amount::text, tx_hash, coalesce(fee::text, '') as fee, is_final
          from ledger.transactions_at('${timeOf(index + 0.5)}') order by order_no`);
        const replayed = [...rows.values()]
          .sort((a, b) => (a.orderNo < b.orderNo ? -1 : 1))
          .map((row) => ({
            order_no: row.orderNo,
            state: row.state,
            amount: row.amount,
            tx_hash: row.txHash,
            fee: row.fee,
            is_final: row.state === 'success',
          }));
        expect(found).toEqual(replayed);
      }
      expect(await query(`select * from ledger.transactions_at('${timeOf(-1)}')`)).toEqual([]);
    }),
    runs,
  );
}, 60_000);

const amount = fc.option(fc.constantFrom('0', '1', '2.5'), { nil: undefined });

test('balances_at is what a replay of all snapshots gives for every moment', async () => {
  const snapshot = fc.record({ ETH: amount, BTC: amount });
  await fc.assert(
    fc.asyncProperty(fc.array(snapshot, { minLength: 1, maxLength: 10 }), async (snapshots) => {
      await clear();
      const now = new Map<string, { symbol: string; balance: string; is_listed: boolean }>();
      const expected: unknown[][] = [];
      for (const [index, one] of snapshots.entries()) {
        const named = Object.entries(one).flatMap(([symbol, balance]) =>
          balance === undefined ? [] : [{ symbol, balance }],
        );
        await storeBalances(db, named.map(balanceOf), index + 1, true);
        await date(timeOf(index));
        for (const known of now.values()) known.is_listed = false;
        for (const { symbol, balance } of named)
          now.set(symbol, { symbol, balance, is_listed: true });
        expected.push([...now.values()].map((row) => ({ ...row })));
      }
      for (const [index, rows] of expected.entries()) {
        const found = await query(`select symbol, balance::text, is_listed
          from ledger.balances_at('${timeOf(index + 0.5)}')`);
        expect(new Set(found)).toEqual(new Set(rows));
      }
      expect(await query(`select * from ledger.balances_at('${timeOf(-1)}')`)).toEqual([]);
    }),
    runs,
  );
}, 60_000);

function balanceOf({ symbol, balance }: { symbol: string; balance: string }) {
  const coin = { name: null, chainName: null, chainSymbol: null, decimals: 8, contractAddress: '' };
  return { ...coin, slip44: 60, symbol, balance, frozen: '0' };
}
