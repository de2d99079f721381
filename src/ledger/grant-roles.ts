import { type SQL, sql } from 'drizzle-orm';
import { LedgerError } from '../kernel/errors.ts';
import { databaseError, type Ledger, type LedgerDb } from './connect-ledger.ts';
import { isForbidden, isReservedName } from './postgres-codes.ts';

/** What a role gets: statements with %I in its place, and the proof that they took effect. */
type Grant = { statements: string[]; isGranted(role: string): SQL };

/** Any constant serves: roles are granted one after the other, since PostgreSQL fails on it otherwise. */
const grantLock = 7_246_003;
const nameBytesMax = 63;

const reader: Grant = {
  statements: [
    'grant usage on schema ledger to %I',
    'grant select on all tables in schema ledger to %I',
    'alter default privileges in schema ledger grant select on tables to %I',
  ],
  // A grant that lacks the right is a warning where the grantor has another one on the object.
  isGranted: (role) => sql`
    select has_schema_privilege(${role}::name, 'ledger', 'usage')
       and bool_and(has_table_privilege(${role}::name, c.oid, 'select')) as granted
      from pg_class c where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')`,
};

const issuer: Grant = {
  statements: [
    'grant usage on schema ledger to %I',
    'grant execute on function ledger.take_address(integer, text) to %I',
  ],
  isGranted: (role) => sql`
    select has_schema_privilege(${role}::name, 'ledger', 'usage')
       and has_function_privilege(${role}::name, 'ledger.take_address(integer, text)', 'execute') as granted`,
};

/**
 * Lets a role read all tables and views of `ledger`, later ones included; it is made, without login, where it does
 * not exist. Throws LedgerError `settings` when the database's own role may not do that, `usage` for a name that
 * PostgreSQL keeps for itself.
 */
export async function grantReader(ledger: Ledger, role: string): Promise<void> {
  await grant(ledger, role, reader);
}

/** Lets a role call `ledger.take_address` and nothing else; otherwise as `grantReader`. */
export async function grantIssuer(ledger: Ledger, role: string): Promise<void> {
  await grant(ledger, role, issuer);
}

async function grant(ledger: Ledger, role: string, { statements, isGranted }: Grant) {
  const bytes = Buffer.byteLength(role);
  if (bytes === 0 || bytes > nameBytesMax || role.includes('\0')) {
    throw new LedgerError('usage', `a role's name has 1 to ${nameBytesMax} bytes`, {
      cure: 'name another role',
    });
  }
  await ledger
    .transaction(async (db) => {
      await db.execute(sql`select pg_advisory_xact_lock(${grantLock})`);
      const known = await db.execute(sql`select from pg_roles where rolname = ${role}`);
      if (known.rows.length === 0) await run(db, 'create role %I nologin', role);
      for (const statement of statements) await run(db, statement, role);
      const { rows } = await db.execute<{ granted: boolean }>(isGranted(role));
      if (!rows[0]?.granted) throw forbidden(role, 'the grant had no effect');
    })
    .catch((error) => {
      throw grantError(error, role);
    });
}

/** PostgreSQL itself quotes the name; statements like these take no parameters. */
async function run(db: LedgerDb, statement: string, role: string): Promise<void> {
  const { rows } = await db.execute<{ text: string }>(
    sql`select format(${statement}::text, ${role}::text) as text`,
  );
  await db.execute(sql.raw(rows[0]?.text ?? ''));
}

function grantError(error: unknown, role: string): unknown {
  const words = databaseError(error).message;
  if (isForbidden(error)) return forbidden(role, words, error);
  if (isReservedName(error)) {
    return new LedgerError('usage', `${role} cannot be a role: ${words}`, {
      cause: error,
      cure: 'name another role',
    });
  }
  return error;
}

function forbidden(role: string, words: string, cause?: unknown): LedgerError {
  return new LedgerError('settings', `${role} could not be granted its rights: ${words}`, {
    cause,
    cure: 'run it with a DATABASE_URL whose role owns the schema ledger, and may create roles where this one is new',
  });
}
