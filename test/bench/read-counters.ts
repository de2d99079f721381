import { setTimeout as delay } from 'node:timers/promises';
import { queryOnce } from '../support/on-database.ts';

/** Tables that every pass may write: bookkeeping, whose size does not follow the history's. */
const bookkeeping = ['streams', 'sync_runs', 'request_tickets', 'reconciliation_runs'];

/** Bytes of WAL that the whole server has written so far. No other process may be writing. */
export function readWalBytes(connectionString: string): Promise<number> {
  return readNumber(
    connectionString,
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as value`,
  );
}

/** Number of WAL records so far: unlike bytes it does not depend on the last checkpoint. */
export async function readWalRecords(connectionString: string): Promise<number> {
  await endOthers(connectionString);
  return readNumber(connectionString, `select wal_records::float8 as value from pg_stat_wal`);
}

/** Rows inserted, updated or deleted so far in the tables of `ledger` that hold data. */
export async function readRowsWritten(connectionString: string): Promise<number> {
  await endOthers(connectionString);
  return readNumber(
    connectionString,
    `select sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 as value from pg_stat_user_tables
      where schemaname = 'ledger' and relname not in ('${bookkeeping.join("','")}')`,
  );
}

/** Connections report their counters late, at the latest when they end: idle ones of the database are ended. */
async function endOthers(connectionString: string): Promise<void> {
  const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
                                          and backend_type = 'client backend'`;
  while ((await readNumber(connectionString, `select count(*)::float8 as value ${others}`)) > 0) {
    await readNumber(
      connectionString,
      `select count(pg_terminate_backend(pid))::float8 as value ${others} and state = 'idle'`,
    );
    await delay(20);
  }
}

async function readNumber(connectionString: string, statement: string): Promise<number> {
  const [row] = await queryOnce<{ value: number }>(connectionString, statement);
  return row?.value ?? Number.NaN;
}
