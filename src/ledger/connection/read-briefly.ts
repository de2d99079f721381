import type { Ledger, LedgerDb } from './connect-ledger.ts';

/** Upper bound of each statement of a reader who waits in front of a page, in ms. */
const briefMs = 2_000;

/** A plan for any value of a filter would not know how rare the value is. */
const briefReads = `set transaction isolation level repeatable read, read only;
set local statement_timeout = ${briefMs}; set local plan_cache_mode = force_custom_plan`;

/**
 * Runs reads in one snapshot, in a transaction that cannot write. PostgreSQL ends a statement that takes longer than
 * 2 s, with the SQLSTATE 57014.
 */
export async function readBriefly<T>(
  ledger: Pick<Ledger, 'transaction'>,
  work: (db: LedgerDb) => Promise<T>,
): Promise<T> {
  return await ledger.transaction(work, briefReads);
}
