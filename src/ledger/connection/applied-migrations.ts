import { LedgerError } from '../../kernel/errors.ts';
import type { LedgerDb } from './connect-ledger.ts';
import { anotherDatabase } from './postgres-cures.ts';
import { listOf, number, out, query, text, truth } from './query-rows.ts';

/** A migration as Drizzle's migrator records it: a row of `hash` and `created_at` (`folderMillis`). */
export type Migration = { folderMillis: number; hash: string; sql: string[] };

const table = 'drizzle.__drizzle_migrations';
const namedMax = 3;

/**
 * Returns the number of the known migrations that the schema lacks. Throws LedgerError `settings` if the schemas, or
 * the table of migrations, belong to another program; `schema-newer` for a schema of a later version; `unexpected` if
 * the table of migrations is damaged, or tables have lost their keys.
 */
export async function countMissing(db: LedgerDb, known: readonly Migration[]): Promise<number> {
  const done = await readApplied(db);
  if (done.size === 0 && (await isOccupied(db))) return await countMissing(db, known);
  if (done.size === 0) return known.length;
  const missing = known.filter(({ folderMillis }) => !done.has(folderMillis));
  if (missing.length === known.length) {
    throw new LedgerError('settings', `the table ${table} belongs to another program`, {
      cure: anotherDatabase,
    });
  }
  const newest = Math.max(...known.map(({ folderMillis }) => folderMillis));
  const last = Math.max(...done);
  if (last > newest) {
    throw new LedgerError(
      'schema-newer',
      'the database was migrated by a later version of wallet-ledger',
    );
  }
  const [gap] = missing.filter(({ folderMillis }) => folderMillis < last);
  if (gap) throw damaged(gap, 'lacks one that is older than others that it has');
  if (missing.length === 0) await requireKeys(db);
  return missing.length;
}

/** Throws LedgerError `unexpected` if tables lack the primary key with which migrations have made them. */
async function requireKeys(db: LedgerDb): Promise<void> {
  const [found] = await query(db)`
    select array(select format('%I.%I', 'ledger', c.relname)
                   from pg_class c
                  where c.relnamespace = to_regnamespace('ledger') and c.relkind = 'r'
                    and c.relname in ('transactions', 'transaction_changes', 'balances', 'coins', 'addresses',
                                      'address_requests', 'streams', 'pools', 'rejects', 'events')
                    and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)
                  order by 1) as ${out('names', listOf(text))}`;
  const { names = [] } = found ?? {};
  if (names.length === 0) return;
  throw new LedgerError(
    'unexpected',
    `${names.join(', ')} have no primary key, so each row may be there twice: a restore over the existing tables has not replaced them`,
    {
      cure: 'restore all of the dump, or its schemas ledger, engine and own together, into an empty database, or again until pg_restore ends without an error (docs/operations.md, Restore)',
    },
  );
}

/** Returns the error for a migration that fails because its objects exist, or those that it changes do not. */
export function damaged({ folderMillis, hash }: Migration, why: string): LedgerError {
  return new LedgerError(
    'unexpected',
    `the table ${table}, which records the applied migrations, is damaged: it ${why}`,
    {
      cure: `restore that table from a backup; if only this row was lost, run as the owner of the schema: insert into ${table} (hash, created_at) values ('${hash}', ${folderMillis})`,
    },
  );
}

/**
 * Returns false if the table of migrations has a row for each number of its sequence, so that none was lost. A
 * transaction that was rolled back also leaves a number without a row.
 */
export async function lacksRecords(db: LedgerDb): Promise<boolean> {
  const [records] = await query(db)`
    select coalesce((select last_value from pg_sequences
                      where schemaname = 'drizzle' and sequencename = '__drizzle_migrations_id_seq'), 0)
             > (select count(*) from drizzle.__drizzle_migrations) as ${out('lost', truth)}`;
  return records?.lost ?? false;
}

async function readApplied(db: LedgerDb): Promise<Set<number>> {
  const [table] = await query(db)`
    select to_regclass('drizzle.__drizzle_migrations') is not null as ${out('exists', truth)}`;
  if (!table?.exists) return new Set();
  const applied = await query(db)`
    select created_at as ${out('at', number)} from drizzle.__drizzle_migrations`;
  return new Set(applied.map(({ at }) => at));
}

/**
 * Throws an error if the program's schemas hold objects although no migration was applied. Returns true if another
 * process has applied them meanwhile. Empty schemas are an administrator's preparation.
 */
async function isOccupied(db: LedgerDb): Promise<boolean> {
  const [found] = await query(db)`
    select array(select format('%I.%I', n.nspname, o.name)
                   from pg_namespace n
                   join (select relnamespace, relname from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
                         union all select pronamespace, proname from pg_proc
                         union all select typnamespace, typname from pg_type where typtype in ('d', 'e', 'r')
                        ) as o (schema, name) on o.schema = n.oid
                  where n.nspname in ('ledger', 'engine', 'own')
                  order by 1 limit ${namedMax}) as ${out('names', listOf(text))},
           to_regclass('ledger.observations') is not null and to_regclass('ledger.address_requests') is not null
             as ${out('isOurs', truth)}`;
  const { names = [], isOurs = false } = found ?? {};
  if (names.length === 0) return false;
  // Migrations are committed together with their objects, and may have been committed after the table was read.
  if ((await readApplied(db)).size > 0) return true;
  if (isOurs) {
    throw new LedgerError(
      'unexpected',
      `the schemas ledger and engine are those of wallet-ledger, but the table ${table}, which records the applied migrations, is missing or empty`,
      {
        cure: `restore that table from a backup: a dump of single schemas lacks it`,
      },
    );
  }
  throw new LedgerError(
    'settings',
    `the database has a schema of another program: it holds ${names.join(', ')}`,
    { cure: anotherDatabase },
  );
}
