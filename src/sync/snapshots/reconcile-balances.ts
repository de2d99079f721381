import type { Ledger, LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { readMovement, recordReconciliation } from '../../ledger/snapshots/reconciliation-store.ts';

/** State of the last comparison in this process. */
type Comparison = {
  movement: string;
  at: number;
  /** The last comparison wrote rows: its judgement is checked once more, even if nothing moves in between. */
  isFresh: boolean;
  /** Duration (ms) of the last comparison by asset, and when it began (`performance.now()`). */
  assetsMs: number;
  assetsAt: number;
};

const comparisons = new WeakMap<Ledger, Comparison>();
/** Upper bound of the time between two comparisons: changes made by SQL from outside leave no other trace. */
const compareAnywayMs = 600_000;
/**
 * Share of the time that comparisons by asset may take, because they read the deposits of symbols that name several
 * assets. One that takes less than `assetsQuickMs` always runs.
 */
const assetsShare = 0.01;
const assetsQuickMs = 100;

/**
 * Compares the transactions with the balances requested at `askedAt` (`performance.now()`), if something moved since
 * the last comparison. The sums of the coins come from running totals.
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
  const startedAt = performance.now();
  let written = await recordReconciliation(db, startedAt - askedAt, 'coins');
  const comparedAt = performance.now();
  const next = { assetsMs: last?.assetsMs ?? 0, assetsAt: last?.assetsAt ?? 0 };
  if (
    next.assetsMs < assetsQuickMs ||
    next.assetsMs <= (comparedAt - next.assetsAt) * assetsShare
  ) {
    written += await recordReconciliation(db, comparedAt - askedAt, 'assets');
    next.assetsMs = performance.now() - comparedAt;
    next.assetsAt = comparedAt;
  }
  comparisons.set(ledger, { ...next, movement, at: askedAt, isFresh: written > 0 });
}
