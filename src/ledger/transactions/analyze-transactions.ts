import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';

/** Rows from which statistics say that a wallet has many: of a single row they would say that it is unique. */
const rowsMin = 100;

/**
 * Returns whether a write brought the first rows of a list, so many that statistics are worth it. Without statistics
 * the planner expects few rows of a wallet, and finds single rows by reading all of them.
 */
export function areFirstRows(stored: { inserted: number; ledgerCount: number }): boolean {
  return stored.inserted >= rowsMin && stored.inserted === stored.ledgerCount;
}

/**
 * Updates the planner's statistics, for the columns of keys, sums and searches. Autovacuum analyzes all columns later.
 * Without the right to analyze, or during a vacuum, the statistics stay as they were.
 */
export async function analyzeTransactions(db: LedgerDb): Promise<void> {
  await db.execute(sql`
    analyze (skip_locked) ledger.transactions
      (wallet, order_no, stream, symbol, fee_symbol, state, is_final, is_listed, occurred_at, detail_synced_at)`);
}
