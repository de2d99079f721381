import type { Ledger, LedgerDb } from '../../src/ledger/connection/connect-ledger.ts';
import { findingByKey } from '../../src/ledger/transactions/transaction-statement.ts';
import { until } from './until.ts';
import type { TestLedger } from './with-ledger.ts';

/** Runs `work` in a transaction, like a store does, and leaves it open until `commit`. */
export async function beginTransaction(
  { transaction }: Ledger,
  work: (db: LedgerDb) => Promise<unknown>,
): Promise<{ commit(): Promise<void> }> {
  let end = (): void => undefined;
  const isEnding = new Promise<void>((resolve) => {
    end = resolve;
  });
  let ended = Promise.resolve();
  await new Promise<void>((onDone, onFailed) => {
    ended = transaction(async (db) => {
      await work(db);
      onDone();
      await isEnding;
    }, findingByKey);
    ended.catch(onFailed);
  });
  return {
    async commit() {
      end();
      await ended;
    },
  };
}

/** Waits until this number of sessions of the database wait for a lock. */
export async function untilBlocked({ query }: TestLedger, sessions = 1): Promise<void> {
  await until(async () => {
    const blocked = await query(`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`);
    return blocked.length >= sessions;
  });
}
