import type { Ledger, LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import {
  keepChainDeposits,
  readMovement,
  recordReconciliation,
} from '../../ledger/snapshots/reconciliation-store.ts';

/** State of the last comparison in this process. */
type Comparison = {
  movement: string;
  at: number;
  /** The last comparison wrote rows: its judgement is checked once more, even if nothing moves in between. */
  isFresh: boolean;
  /** The assets were compared as well. */
  isWhole: boolean;
};

const comparisons = new WeakMap<Ledger, Comparison>();
/** Upper bound of the time between two comparisons: changes made by SQL from outside leave no other trace. */
const compareAnywayMs = 600_000;
/** Upper bound of the time (s) in which a pass reads deposits of symbols that name several assets. */
const keepSecondsMax = 3;

/**
 * Compares the transactions with the balances requested at `askedAt` (`performance.now()`), if something moved since
 * the last comparison. All sums come from running totals. Assets are left out while `areChainsKept` is false.
 */
export async function reconcileBalances(
  ledger: Ledger,
  db: LedgerDb,
  askedAt: number,
  areChainsKept: boolean,
): Promise<void> {
  const movement = await readMovement(db);
  const last = comparisons.get(ledger);
  const isQuiet = movement === last?.movement && !last.isFresh && last.isWhole;
  if (isQuiet && askedAt <= last.at + compareAnywayMs) return;
  const startedAt = performance.now();
  let written = await recordReconciliation(db, startedAt - askedAt, 'coins');
  if (areChainsKept)
    written += await recordReconciliation(db, performance.now() - askedAt, 'assets');
  comparisons.set(ledger, {
    movement,
    at: askedAt,
    isFresh: written > 0,
    isWhole: areChainsKept,
  });
}

/** Prepares the comparison by asset, outside the transaction that stores the balances. */
export function keepChains({ db }: Ledger): Promise<boolean> {
  return keepChainDeposits(db, keepSecondsMax);
}
