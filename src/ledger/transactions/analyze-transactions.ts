import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';

/** Minimum of rows for statistics: those of a single row would say that the wallet's column is unique. */
const rowsMin = 100;

/**
 * Returns true if a write brought so many of a list's first rows that new statistics are worth their cost. Without
 * statistics the planner expects few rows of a wallet, and finds single rows by reading all of them.
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
