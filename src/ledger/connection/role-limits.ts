import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connect-ledger.ts';
import { isForbidden } from './postgres-codes.ts';

/** PostgreSQL settings by name, for the sessions of a role in the ledger's database. */
export type RoleLimits = Readonly<Record<string, string>>;

/** Connection limit of a role that the program creates. */
export const connectionsMax = 20;

/**
 * Sets the limits of a role in this database, but keeps every setting that an administrator made for the role or the
 * database. Of the program's own limits (`known`) the longest stays: a role may have several grants. Returns the
 * statements that the database's own role may not run. Call it inside a transaction.
 */
export async function limitRole(
  db: LedgerDb,
  role: string,
  limits: RoleLimits,
  known: readonly RoleLimits[],
): Promise<string[]> {
  const own = known.flatMap((each) =>
    Object.entries(each).map(([name, value]) => `${name}=${value}`),
  );
  const names = Object.keys(limits);
  const { rows } = await db.execute<{ statement: string }>(sql`
    select format('alter role %I in database %I set %I = %L', ${role}::text, current_database(), l.name, l.value) as statement
      from unnest(${sql.param(names)}::text[], ${sql.param(Object.values(limits))}::text[]) as l (name, value)
     where not exists (
       select from pg_db_role_setting s cross join unnest(s.setconfig) as made (setting)
        where s.setrole in (0, (select oid from pg_roles where rolname = ${role}))
          and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
          and split_part(made.setting, '=', 1) = l.name
          and case when s.setrole <> 0 and s.setdatabase <> 0 and made.setting = any(${sql.param(own)}::text[])
                   then split_part(made.setting, '=', 2)::interval >= l.value::interval else true end)
     order by l.name`);
  const forbidden: string[] = [];
  for (const { statement } of rows) {
    await db.execute(sql`savepoint limits`);
    try {
      await db.execute(sql.raw(statement));
    } catch (error) {
      if (!isForbidden(error)) throw error;
      await db.execute(sql`rollback to savepoint limits`);
      forbidden.push(statement);
    }
  }
  return forbidden;
}
