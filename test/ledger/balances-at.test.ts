import fc from 'fast-check';
import { expect, test } from 'vitest';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const { db } = ledger;
const start = Date.UTC(2026, 0, 1);
const stepMs = 36 * 3_600_000;
const timeOf = (step: number) => new Date(start + step * stepMs).toISOString();
const runs = { numRuns: 25 };

/**
 * Sets the time of the rows written last to that of their step, because the ledger stored them with the database's
 * clock.
 */
async function date(at: string): Promise<void> {
  await query(
    `update ledger.balance_changes set observed_at = '${at}' where observed_at > now() - interval '1 day'`,
  );
}

const amount = fc.option(fc.constantFrom('0', '1', '2.5'), { nil: undefined });

test('balances_at equals a replay of all snapshots at every moment', async () => {
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
