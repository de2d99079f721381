import type { LedgerDb } from './connect-ledger.ts';
import { orNull, out, query, text } from './query-rows.ts';
import type { TextProblem } from './text-problem.ts';

/**
 * Returns why the indexes of the database may be in another order than the server sorts by: another operating system or
 * image has another version of the collation. An existing key may then not be found, and is stored twice. PostgreSQL
 * itself only warns.
 */
export async function findOrderProblem(db: LedgerDb): Promise<TextProblem | null> {
  const [row] = await query(db)`
    select quote_ident(datname) as ${out('name', text)}, coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale', datcollate) as ${out('collation', text)},
           datcollversion as ${out('recorded', orNull(text))},
           pg_database_collation_actual_version(oid) as ${out('actual', orNull(text))}
      from pg_database d where datname = current_database()`;
  if (!row || row.recorded === null || row.recorded === row.actual) return null;
  const { name, collation, recorded, actual } = row;
  return {
    what: `the indexes of the database were built by version ${recorded} of the collation ${collation}; the server sorts by ${
      actual === null ? 'one without a version' : `version ${actual}`
    }, and may not find a row that is there`,
    cure:
      actual === null
        ? `run PostgreSQL on the system or image that the database was made on, or restore a dump of it (pg_dump) into a new database`
        : `while nothing else writes, run in the database as its owner, each statement by itself: reindex database ${name}; alter database ${name} refresh collation version;`,
  };
}
