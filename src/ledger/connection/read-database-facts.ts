import type { Ledger } from './connect-ledger.ts';

/** Facts about the server, and the rights of this role. */
export type DatabaseFacts = {
  version: string;
  versionNumber: number;
  /** Setting of the server; `off` loses the last commits in a crash. */
  /** Settings that are off although commits are safe only with them, in the order of the harm. */
  unsafe: string[];
  /** Connections for ordinary roles, shared by all programs. */
  connectionsMax: number;
  /** The server is a standby, or the role or database is set to read-only. */
  isReadOnly: boolean;
  mayCreateSchema: boolean;
  /** The schema can issue tickets, even if it lacks migrations. */
  hasTickets: boolean;
  /** Existing tables, sequences and functions that this role lacks rights for (docs/roles.md), by name. */
  forbidden: string[];
  /** Server clock minus this machine's clock, in milliseconds. */
  aheadMs: number;
};

const isReadOnly = `pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as "isReadOnly"`;

const facts = `
select current_setting('server_version') as version,
       current_setting('server_version_num')::integer as "versionNumber",
       array(select name from unnest(array['fsync', 'full_page_writes', 'synchronous_commit']) as name
              where current_setting(name) = 'off') as "unsafe",
       current_setting('max_connections')::integer
         - current_setting('superuser_reserved_connections')::integer as "connectionsMax",
       ${isReadOnly},
       has_database_privilege(current_database(), 'CREATE') as "mayCreateSchema",
       to_regproc('ledger.take_tickets') is not null as "hasTickets",
       array(select c.oid::regclass::text
               from pg_class c join pg_namespace n on n.oid = c.relnamespace
              where case when c.relkind in ('r', 'p') and n.nspname = any ($1::text[])
                         then not (has_schema_privilege(n.oid, 'USAGE')
                                   and has_table_privilege(c.oid, 'SELECT') and has_table_privilege(c.oid, 'INSERT')
                                   and has_table_privilege(c.oid, 'UPDATE') and has_table_privilege(c.oid, 'DELETE'))
                         when c.oid = to_regclass('drizzle.__drizzle_migrations')
                         then not has_table_privilege(c.oid, 'SELECT')
                         when c.relkind = 'S' and (n.nspname = 'queue' and 'queue' = any ($1::text[])
                                                   or c.oid = to_regclass('ledger.observations'))
                         then not has_sequence_privilege(c.oid, 'USAGE')
                    end
              union all
             select p.oid::regprocedure::text from pg_proc p
              where p.oid in (to_regproc('ledger.take_tickets'), to_regproc('ledger.pause_requests'))
                and not has_function_privilege(p.oid, 'EXECUTE')
              order by 1) as forbidden,
       extract(epoch from clock_timestamp())::float8 * 1000 as "serverMs"`;

/**
 * Queries the server. `clock` returns Unix milliseconds; `schemas` are those whose tables the program reads and writes.
 */
export async function readDatabaseFacts(
  ledger: Ledger,
  clock: () => number,
  schemas: string[],
): Promise<DatabaseFacts> {
  const askedAt = clock();
  const { rows } = await ledger.pool.query<Omit<DatabaseFacts, 'aheadMs'> & { serverMs: number }>(
    facts,
    [schemas],
  );
  const now = (askedAt + clock()) / 2;
  if (!rows[0]) throw new Error('the query of the server facts returned no row');
  const { serverMs, ...row } = rows[0];
  return { ...row, aheadMs: serverMs - now };
}

/** Upper bound of the wait for an answer in ms. A readiness probe gives up after a few seconds. */
const writableAnswerMs = 2_000;

/** Returns true if the database takes writes. Throws if it does not answer within 2 s. */
export async function isWritable({ pool }: Pick<Ledger, 'pool'>): Promise<boolean> {
  const question = { text: `select ${isReadOnly}`, query_timeout: writableAnswerMs };
  const { rows } = await pool.query<Pick<DatabaseFacts, 'isReadOnly'>>(question);
  return rows[0]?.isReadOnly === false;
}
