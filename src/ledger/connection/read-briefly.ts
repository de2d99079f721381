import type { Ledger, LedgerDb } from './connect-ledger.ts';

/** Upper bound of each statement, in ms, while a reader waits for a page. */
const briefMs = 2_000;

/** Upper bound of all of its statements in ms, also if the connection is dead. */
const answerMs = 8_000;

/** A generic plan would not know how rare a filter's value is. */
const briefReads = `set transaction isolation level repeatable read, read only;
set local statement_timeout = ${briefMs}; set local plan_cache_mode = force_custom_plan`;

/**
 * Runs reads in one snapshot, in a transaction that cannot write. PostgreSQL ends a statement that takes longer than
 * 2 s, with the SQLSTATE 57014. After `withinMs` in all, the connection is closed.
 */
export async function readBriefly<T>(
  ledger: Pick<Ledger, 'transaction'>,
  work: (db: LedgerDb) => Promise<T>,
  withinMs = answerMs,
): Promise<T> {
  const late = new AbortController();
  const error = new Error(`the database has not answered within ${withinMs / 1_000} s`);
  const timer = setTimeout(() => late.abort(error), withinMs);
  try {
    return await ledger.transaction(work, briefReads, late.signal);
  } finally {
    clearTimeout(timer);
  }
}
