import type { Ledger, LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { readMovement, recordReconciliation } from '../../ledger/snapshots/reconciliation-store.ts';

/** State of the last comparison in this process. */
type Comparison = {
  movement: string;
  at: number;
  /**
   * The last comparison wrote rows, or explained a difference: it is made once more, even if nothing moves in between.
   */
  isFresh: boolean;
};

const comparisons = new WeakMap<Ledger, Comparison>();
/** Upper bound of the time between two comparisons: changes made by SQL from outside leave no other trace. */
const compareAnywayMs = 600_000;

/**
 * Compares the transactions with the balances requested at `askedAt` (`performance.now()`), if something moved since
 * the last comparison. All sums come from running totals.
 */
export async function reconcileBalances(
  ledger: Ledger,
  db: LedgerDb,
  askedAt: number,
): Promise<void> {
  const movement = await readMovement(db);
  const last = comparisons.get(ledger);
  const isQuiet = movement === last?.movement && !last.isFresh;
  if (isQuiet && askedAt <= last.at + compareAnywayMs) return;
  const age = () => performance.now() - askedAt;
  const coins = await recordReconciliation(db, age(), 'coins');
  const assets = await recordReconciliation(db, age(), 'assets');
  const isFresh = [coins, assets].some(({ written, mayLapse }) => written > 0 || mayLapse);
  comparisons.set(ledger, { movement, at: askedAt, isFresh });
}
