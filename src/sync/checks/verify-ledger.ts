import { settleAllThenThrow } from '../../kernel/settle-all-then-throw.ts';
import { type TransactionType, transactionTypes } from '../../kernel/vocabulary.ts';
import { compareTotals, mendTotals } from '../../ledger/reports/totals-store.ts';
import {
  compareBalances,
  compareCoins,
  type SnapshotComparison,
} from '../../ledger/snapshots/compare-snapshots.ts';
import { listRefusedDetails } from '../../ledger/transactions/refused-details.ts';
import { syncAllDetails } from '../details/sync-details.ts';
import { syncBalances } from '../snapshots/sync-balances.ts';
import { syncCoins } from '../snapshots/sync-coins.ts';
import { unstoredRows } from '../snapshots/unstored-rows.ts';
import { transactionStream } from '../streams/sync-transactions.ts';
import type { SyncContext } from '../sync-context.ts';
import { type Drift, driftCount, emptyDrift, leftCount } from './drift.ts';
import { type ListEnd, readListEnd } from './read-list-end.ts';
import { verifyAddresses } from './verify-addresses.ts';
import { type Verification, verifyTransactions } from './verify-transactions.ts';

/**
 * Compares everything that the service lists with the ledger, and the running totals with a recount. Repairs what
 * differs if the options say so. Details are missing where the service refused them, at the last in the repair.
 */
export async function verifyLedger(context: SyncContext, options: Verification): Promise<Drift[]> {
  const drifts: Drift[] = [];
  const { signal, isRepair } = options;
  const { pageSize } = context.settings;
  // Both before anything is compared: what arrives from here on is no drift.
  const lists = await settleAllThenThrow(
    transactionTypes.map(async (type) => {
      const source = transactionStream(context, type, 'backlog');
      return { type, end: await readListEnd({ source, pageSize, signal }) };
    }),
  );
  for (const { type, end } of lists)
    drifts.push(await verifyTransactions(context, type, options, end));
  if (isRepair) await verifyMovedRows(context, options, { lists, drifts });
  if (isRepair) await syncAllDetails(context, signal, options.onProgress);
  const { client, ledger } = context;
  const isWalletMoving = drifts.some(
    ({ arrivals, missing }) => arrivals > 0 || (missing.length > 0 && !isRepair),
  );
  const balances = await client.listBalances(options.signal);
  drifts.push(
    await mended(
      'balances',
      balances.records.length,
      await compareBalances(ledger.db, balances.records, isWalletMoving),
      { ...options, unstorable: unstoredRows(balances.rejects) },
      () => syncBalances(context, options.signal),
    ),
  );
  const coins = await client.listCoins(options.signal);
  drifts.push(
    await mended(
      'coins',
      coins.records.length,
      await compareCoins(ledger.db, coins.records),
      { ...options, unstorable: unstoredRows(coins.rejects) },
      () => syncCoins(context, options.signal),
    ),
  );
  for (const slip44 of context.settings.chains)
    drifts.push(await verifyAddresses(context, slip44, options));
  const refused = await listRefusedDetails(ledger.db);
  if (refused.length > 0) drifts.push({ ...emptyDrift('details'), missing: refused });
  const { compared, different } = await ledger.longTransaction(compareTotals);
  drifts.push(
    await mended('totals', compared, { missing: [], different, extra: [] }, options, () =>
      ledger.longTransaction(mendTotals),
    ),
  );
  return drifts;
}

/**
 * Verifies lists again whose repair left rows that a list verified later no longer shows: until then a row belongs to
 * the list that showed it first.
 */
async function verifyMovedRows(
  context: SyncContext,
  options: Verification,
  { lists, drifts }: { lists: { type: TransactionType; end: ListEnd }[]; drifts: Drift[] },
): Promise<void> {
  for (const [index, { type, end }] of lists.entries()) {
    const drift = drifts[index];
    const haveMoved = drifts.slice(index + 1).some(({ extra }) => extra.length > 0);
    if (!drift || !haveMoved || leftCount(drift) === drift.unstorable + drift.unmet.length)
      continue;
    const again = await verifyTransactions(context, type, options, end);
    drift.repaired = Math.max(0, driftCount(drift) - leftCount(again));
  }
}

async function mended(
  name: string,
  compared: number,
  found: SnapshotComparison,
  { isRepair, unstorable = 0 }: Verification & { unstorable?: number },
  mend: () => Promise<unknown>,
): Promise<Drift> {
  const drift: Drift = { ...emptyDrift(name), compared, ...found, unstorable };
  if (!isRepair || driftCount(drift) === unstorable) return drift;
  await mend();
  // An answer with a row that cannot be stored may lack others, so that none counts as removed.
  const kept = unstorable > 0 ? found.extra.length : 0;
  return { ...drift, repaired: driftCount(drift) - unstorable - kept };
}
