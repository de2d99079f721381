import type { Ledger, LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { readMovement, recordReconciliation } from '../../ledger/snapshots/reconciliation-store.ts';

/** What this process knows of its last comparison. */
type Comparison = {
  movement: string;
  at: number;
  /** The last comparison wrote rows: its judgement is looked at once more, whatever moves meanwhile. */
  isFresh: boolean;
  /** What the last comparison by asset took, and what those by coin have taken since. */
  assetsMs: number;
  coinsMs: number;
};

const comparisons = new WeakMap<Ledger, Comparison>();
/** Changes made by SQL from outside leave no other trace, so the sums are compared this often in any case. */
const compareAnywayMs = 600_000;
/** A comparison by asset follows those by coin when it adds at most this share to their time, or takes next to none. */
const assetsShare = 0.08;
const assetsQuickMs = 100;

/**
 * Compares the transactions with the balances that were asked for at `askedAt`, where something moved since the last
 * time; sums over a long history are not for every poll.
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
