import { sql } from 'drizzle-orm';
import { LedgerError } from '../../kernel/errors.ts';
import type { Ledger, LedgerDb } from './connect-ledger.ts';
import { databaseError } from './database-error.ts';
import { isForbidden, isReservedName } from './postgres-codes.ts';
import { number, out, query, text, truth } from './query-rows.ts';
import { requireName } from './require-name.ts';

/** Advisory lock; any constant works. PostgreSQL fails if two sessions alter a publication at once. */
const publicationLock = 7_246_011;
/** The comment on the program's own publications: later tables are added to these. */
const mark = sql`'Tables of the schema ledger; wallet-ledger migrate keeps it up to date'`;

/**
 * Tables of `engine` that are published too, because views of `ledger` read them: on a subscriber without them,
 * `daily_totals` is empty. Those of the change feed and of the program's own state are left out.
 */
const readByViews = [
  'all_sums',
  'daily_sums',
  'detail_checks',
  'total_changes',
  'transition_counts',
];

/**
 * `added`: tables that it did not have, as `schema.table`. `isLogical`: the server's wal_level allows logical
 * replication.
 */
export type PublicationReport = { tables: number; added: string[]; isLogical: boolean };

/**
 * Publishes all tables of `ledger`, and those of `engine` that its views read, for logical replication under this name,
 * or brings the program's publication of this name up to date. Throws LedgerError `usage` for an invalid name and for
 * the publication of another program, and `settings` if the database's own role lacks the rights.
 */
export async function publishTables(ledger: Ledger, name: string): Promise<PublicationReport> {
  requireName('publication', name);
  const work = async (db: LedgerDb): Promise<PublicationReport> => {
    await lock(db);
    const [found] = await query(db)`
      select coalesce(obj_description(p.oid, 'pg_publication'), '') = ${mark} as ${out('isOwn', truth)}
        from pg_publication p where p.pubname = ${name}`;
    if (found && !found.isOwn)
      throw refused(`the publication ${name} exists, and wallet-ledger did not create it`);
    const added = await bringUpToDate(db, name, found === undefined);
    await identifyAddresses(db);
    const [facts] = await query(db)`
      select count(*) as ${out('tables', number)}, current_setting('wal_level') = 'logical' as ${out('isLogical', truth)}
        from pg_publication_tables t where t.pubname = ${name}`;
    return { tables: facts?.tables ?? 0, added, isLogical: facts?.isLogical ?? false };
  };
  return await ledger.transaction(work).catch((error) => {
    throw publicationError(error, name);
  });
}

/**
 * Adds the tables of a newer schema to the program's publications. Returns the names of those that changed. Gives the
 * addresses an identity that is sent, also under the publications of other programs. Throws LedgerError `settings` if
 * the database's own role lacks the rights.
 */
export async function refreshPublications(ledger: Ledger): Promise<string[]> {
  const names = await query(ledger.db)`
    select p.pubname::text as ${out('name', text)}
      from pg_publication p where obj_description(p.oid, 'pg_publication') = ${mark} order by p.pubname`;
  const changed: string[] = [];
  await ledger.transaction(identifyAddresses).catch((error) => {
    throw publicationError(error, 'of ledger.addresses');
  });
  for (const { name } of names) {
    const { added } = await publishTables(ledger, name);
    if (added.length > 0) changed.push(name);
  }
  return changed;
}

async function lock(db: LedgerDb): Promise<void> {
  await db.execute(sql`select pg_advisory_xact_lock(${publicationLock})`);
}

/** Adds the tables that the publication lacks, and returns them. */
async function bringUpToDate(db: LedgerDb, name: string, isNew: boolean): Promise<string[]> {
  const missing = await query(db)`
    select n.nspname::text as ${out('schema', text)}, c.relname::text as ${out('table', text)},
           exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p') as ${out('hasKey', truth)}
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where (n.nspname = 'ledger' or n.nspname = 'engine' and c.relname = any (${sql.param(readByViews)}::text[]))
       and c.relkind in ('r', 'p') and c.relpersistence = 'p'
       and not exists (select from pg_publication_tables t
                        where t.pubname = ${name} and t.schemaname = n.nspname and t.tablename = c.relname)
     order by n.nspname collate "C", c.relname collate "C"`;
  const nameOf = ({ schema, table }: { schema: string; table: string }) =>
    sql`${sql.identifier(schema)}.${sql.identifier(table)}`;
  for (const each of missing) {
    // Without a key a subscriber finds a changed row by all of its former values only.
    if (!each.hasKey) await db.execute(sql`alter table ${nameOf(each)} replica identity full`);
  }
  const publication = sql.identifier(name);
  const tables = sql.join(missing.map(nameOf), sql`, `);
  if (isNew) {
    await db.execute(sql`create publication ${publication} for table ${tables}`);
    await db.execute(sql`comment on publication ${publication} is ${mark}`);
  } else if (missing.length > 0) {
    await db.execute(sql`alter publication ${publication} add table ${tables}`);
  }
  return missing.map(({ schema, table }) => `${schema}.${table}`);
}

/**
 * Gives the rows of a published `ledger.addresses` an identity without the generated column of its key, which is not
 * sent to subscribers. With it, a subscription stops at the first update of an address, because the subscriber cannot
 * find the row; from version 18 on, PostgreSQL refuses the update itself. An identity that was set by hand stays.
 */
async function identifyAddresses(db: LedgerDb): Promise<void> {
  const isUnfit = sql`select from pg_class c
    where c.oid = 'ledger.addresses'::regclass and c.relreplident = 'd'
      and exists (select from pg_publication_tables t where t.schemaname = 'ledger' and t.tablename = 'addresses')`;
  if ((await db.execute(isUnfit)).rowCount === 0) return;
  await lock(db);
  await db.execute(
    sql`create unique index if not exists addresses_published on ledger.addresses (wallet, slip44, address)`,
  );
  await db.execute(
    sql`alter table ledger.addresses replica identity using index addresses_published`,
  );
}

function publicationError(error: unknown, name: string): unknown {
  const words = databaseError(error).message;
  if (isReservedName(error)) return refused(`${name} cannot be a publication: ${words}`, error);
  if (!isForbidden(error)) return error;
  return new LedgerError(
    'settings',
    `the publication ${name} cannot be made or altered: ${words}`,
    {
      cause: error,
      cure: 'run the command with a DATABASE_URL whose role owns the schema ledger and the publication, and has the right CREATE on the database',
    },
  );
}

function refused(message: string, cause?: unknown): LedgerError {
  return new LedgerError('usage', message, { cause, cure: 'name another publication' });
}
