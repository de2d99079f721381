import type { Ledger, LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { readMovement, recordReconciliation } from '../../ledger/snapshots/reconciliation-store.ts';

/** State of the last comparison in this process. */
type Comparison = {
  movement: string;
  at: number;
  /** The last comparison wrote rows: its judgement is checked once more, even if nothing moves in between. */
  isFresh: boolean;
  /** Duration (ms) of the last comparison by asset, and of the comparisons by coin since then. */
  assetsMs: number;
  coinsMs: number;
};

const comparisons = new WeakMap<Ledger, Comparison>();
/** Upper bound of the time between two comparisons: changes made by SQL from outside leave no other trace. */
const compareAnywayMs = 600_000;
/**
 * Share of the time of the comparisons by coin that a comparison by asset may add. One that takes less than
 * `assetsQuickMs` always runs.
 */
const assetsShare = 0.08;
const assetsQuickMs = 100;

/**
 * Compares the transactions with the balances requested at `askedAt` (`performance.now()`), if something moved since
 * the last comparison. Sums over a long history are too slow for every poll.
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
  const coinsMs = (last?.coinsMs ?? 0) + comparedAt - startedAt;
  const next = { movement, at: askedAt, assetsMs: last?.assetsMs ?? 0, coinsMs };
  if (next.assetsMs < assetsQuickMs || next.assetsMs <= coinsMs * assetsShare) {
    written += await recordReconciliation(db, comparedAt - askedAt, 'assets');
    next.assetsMs = performance.now() - comparedAt;
    next.coinsMs = 0;
  }
  comparisons.set(ledger, { ...next, isFresh: written > 0 });
}
