import { isOfRequest, LedgerError } from '../../kernel/errors.ts';
import { settleAllThenThrow } from '../../kernel/settle-all-then-throw.ts';
import { type TransactionType, transactionTypes } from '../../kernel/vocabulary.ts';
import type { Snapshot } from '../../kernel/wallet-records.ts';
import { compareTotals, correctTotals } from '../../ledger/reports/totals-store.ts';
import {
  compareBalances,
  compareCoins,
  type SnapshotComparison,
} from '../../ledger/snapshots/compare-snapshots.ts';
import {
  closeUnlistedRejects,
  noteSnapshotRejects,
} from '../../ledger/transactions/close-rejects.ts';
import { listRefusedDetails } from '../../ledger/transactions/refused-details.ts';
import { syncAllDetails } from '../details/sync-details.ts';
import { syncBalances } from '../snapshots/sync-balances.ts';
import { syncCoins } from '../snapshots/sync-coins.ts';
import { unstoredRows } from '../snapshots/unstored-rows.ts';
import { transactionStream } from '../streams/sync-transactions.ts';
import type { SyncContext } from '../sync-context.ts';
import { type Drift, driftCount, emptyDrift, leftCount, unrepairableCount } from './drift.ts';
import { type ListEnd, readListEnd } from './read-list-end.ts';
import { verifyAddresses } from './verify-addresses.ts';
import { type Verification, verifyTransactions } from './verify-transactions.ts';

/**
 * Options of a verification. `onFailure` receives each part that the service did not answer, so that the other parts
 * are still compared. Without it the first such failure is thrown. A failure before anything was compared is always
 * thrown.
 */
type Options = Verification & { onFailure?: (name: string, error: LedgerError) => void };

/**
 * Compares everything that the service lists with the ledger, and the running totals with a recount. Repairs what
 * differs if the options say so. Stores the rejects of the answers, and resolves those that the answers settle. A
 * detail that the service refused is missing from the comparison.
 */
export async function verifyLedger(context: SyncContext, options: Options): Promise<Drift[]> {
  const { signal } = options;
  const { ledger, client } = context;
  const parts = openParts(options);
  const { drifts, run } = parts;
  const isWalletMoving = await verifyLists(context, options, parts);
  await run('balances', () =>
    verifySnapshot(context, options, {
      source: 'balance-list',
      ask: () => client.listBalances(signal),
      compare: (records) => compareBalances(ledger.db, records, isWalletMoving),
      repair: () => syncBalances(context, signal),
    }),
  );
  await run('coins', () =>
    verifySnapshot(context, options, {
      source: 'coin-list',
      ask: () => client.listCoins(signal),
      compare: (records) => compareCoins(ledger.db, records),
      repair: () => syncCoins(context, signal),
    }),
  );
  for (const slip44 of context.settings.chains)
    await run(`addresses:${slip44}`, () => verifyAddresses(context, slip44, options));
  const refused = await listRefusedDetails(ledger.db);
  if (refused.length > 0) drifts.push({ ...emptyDrift('details'), missing: refused });
  const { compared, different } = await ledger.longTransaction(compareTotals);
  const totals = { ...emptyDrift('totals'), compared, different };
  drifts.push(await withRepair(totals, options, () => ledger.longTransaction(correctTotals)));
  return drifts;
}

/** Compares the transaction lists. Returns true if balances may move meanwhile, or if a list could not be compared. */
async function verifyLists(
  context: SyncContext,
  options: Options,
  { drifts, run }: ReturnType<typeof openParts>,
): Promise<boolean> {
  const { signal, isRepair } = options;
  const { pageSize } = context.settings;
  // Both ends are read before anything is compared: rows that arrive afterwards are no drift.
  const lists = await settleAllThenThrow(
    transactionTypes.map(async (type) => {
      const source = transactionStream(context, type, 'backlog');
      return { type, end: await readListEnd({ source, pageSize, signal }) };
    }),
  );
  for (const { type, end } of lists)
    await run(type, () => verifyTransactions(context, type, options, end));
  const areCompared = drifts.length === lists.length;
  if (areCompared && drifts.every(({ unstorable }) => unstorable === 0))
    await closeUnlistedRejects(context.ledger.db);
  if (isRepair)
    await run('details', async () => {
      if (areCompared) await verifyMovedRows(context, options, { lists, drifts });
      await syncAllDetails(context, signal, options.onProgress);
      return undefined;
    });
  const isMoving = ({ arrivals, missing }: Drift) =>
    arrivals > 0 || (missing.length > 0 && !isRepair);
  return !areCompared || drifts.some(isMoving);
}

/**
 * Collects the parts of a verification, which run one after another. After a failure that other requests share, such as
 * an unreachable service, no further part is tried, because each would fail in the same way.
 */
function openParts({ onFailure }: Options) {
  const drifts: Drift[] = [];
  let outage: LedgerError | null = null;
  const note = (name: string, error: unknown): void => {
    if (!onFailure || !isOfService(error)) throw error;
    if (!isOfRequest(error)) outage = error;
    onFailure(name, error);
  };
  const run = async (name: string, compare: () => Promise<Drift | undefined>): Promise<void> => {
    if (outage) return note(name, outage);
    try {
      const drift = await compare();
      if (drift) drifts.push(drift);
    } catch (error) {
      note(name, error);
    }
  };
  return { drifts, run };
}

function isOfService(error: unknown): error is LedgerError {
  return error instanceof LedgerError && error.code.startsWith('service-');
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
    if (!drift || !haveMoved || leftCount(drift) === unrepairableCount(drift)) continue;
    const again = await verifyTransactions(context, type, options, end);
    drift.repaired = Math.max(0, driftCount(drift) - leftCount(again));
  }
}

type VerifiedSnapshot<R> = {
  source: 'balance-list' | 'coin-list';
  ask: () => Promise<Snapshot<R>>;
  compare: (records: R[]) => Promise<SnapshotComparison>;
  repair: () => Promise<unknown>;
};

async function verifySnapshot<R>(
  { ledger }: SyncContext,
  options: Options,
  { source, ask, compare, repair }: VerifiedSnapshot<R>,
): Promise<Drift> {
  const { records, rejects } = await ask();
  await ledger.transaction((db) => noteSnapshotRejects(db, source, rejects));
  const drift: Drift = {
    ...emptyDrift(source === 'balance-list' ? 'balances' : 'coins'),
    ...(await compare(records)),
    compared: records.length,
    unstorable: unstoredRows(rejects),
  };
  return await withRepair(drift, options, repair);
}

async function withRepair(
  drift: Drift,
  { isRepair }: Verification,
  repair: () => Promise<unknown>,
): Promise<Drift> {
  const repairable = driftCount(drift) - unrepairableCount(drift);
  if (!isRepair || repairable + drift.moved.length === 0) return drift;
  await repair();
  // An answer with a row that cannot be stored may lack others, so no row counts as removed.
  const kept = drift.unstorable > 0 ? drift.extra.length : 0;
  return { ...drift, moved: [], repaired: repairable - kept };
}
