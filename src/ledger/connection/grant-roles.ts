import { type SQL, sql } from 'drizzle-orm';
import { LedgerError } from '../../kernel/errors.ts';
import type { Ledger, LedgerDb } from './connect-ledger.ts';
import { databaseError } from './database-error.ts';
import { isForbidden, isReservedName } from './postgres-codes.ts';
import { requireName } from './require-name.ts';
import { connectionsMax, limitRole, type RoleLimits } from './role-limits.ts';

/**
 * Rights of a role: statements with %I as its name, the query that verifies their effect, and limits of its sessions.
 */
type Grant = { statements: string[]; isGranted(role: string): SQL; limits: RoleLimits };

/**
 * Result of a grant. `isNew`: the role did not exist. `limits`: those of its sessions. `forbidden`: statements for the
 * limits that need more rights than the database's own role has.
 */
export type GrantReport = { isNew: boolean; limits: RoleLimits; forbidden: string[] };

/** Advisory lock; any constant works. Grants run one after the other, because PostgreSQL fails on concurrent ones. */
const grantLock = 7_246_003;

const reader: Grant = {
  statements: [
    'grant usage on schema ledger to %I',
    'grant select on all tables in schema ledger to %I',
    'alter default privileges in schema ledger grant select on tables to %I',
    // The functions that readers call read the views of one wallet.
    'grant usage on schema own to %I',
    'grant select on all tables in schema own to %I',
    'select engine.settle_rights()',
  ],
  // Verifies the effect: PostgreSQL only warns if the grantor lacks this right but has another one on the object.
  isGranted: (role) => sql`
    select has_schema_privilege(${role}::name, 'ledger', 'usage')
       and bool_and(has_table_privilege(${role}::name, c.oid, 'select')) as granted
      from pg_class c where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')`,
  limits: {
    statement_timeout: '5min',
    idle_in_transaction_session_timeout: '1min',
    lock_timeout: '5s',
  },
};

const issuerFunctions = [
  'ledger.hint(text[])',
  'ledger.hint(text, text[])',
  'ledger.take_address(integer, text)',
  'ledger.take_address(text, integer, text)',
  'ledger.take_further_address(integer, text)',
  'ledger.take_further_address(text, integer, text)',
] as const;

const issuer: Grant = {
  statements: callsOf(issuerFunctions),
  isGranted: (role) => sql`select ${mayCall(role, issuerFunctions)} as granted`,
  limits: {
    statement_timeout: '30s',
    idle_in_transaction_session_timeout: '10s',
    lock_timeout: '5s',
  },
};

const consumerFunctions = [
  'ledger.next_events(text, integer)',
  'ledger.ack_events(text, bigint)',
  'ledger.events_head()',
  'ledger.key_of_address(text)',
  'ledger.wallets_of_reference(text)',
] as const;

const consumer: Grant = {
  statements: [
    ...callsOf(consumerFunctions),
    'grant select on table ledger.events to %I',
    // PostgreSQL evaluates the policy for roles of one wallet for every role.
    'grant execute on function engine.seen_wallets(name) to %I',
  ],
  isGranted: (role) => sql`
    select ${mayCall(role, consumerFunctions)}
       and has_table_privilege(${role}::name, 'ledger.events', 'select') as granted`,
  limits: {
    statement_timeout: '1min',
    idle_in_transaction_session_timeout: '1min',
    lock_timeout: '30s',
  },
};

const allLimits = [reader, issuer, consumer].map((each) => each.limits);

function callsOf(functions: readonly string[]): string[] {
  return [
    'grant usage on schema ledger to %I',
    ...functions.map((each) => `grant execute on function ${each} to %I`),
  ];
}

function mayCall(role: string, functions: readonly string[]): SQL {
  return sql`has_schema_privilege(${role}::name, 'ledger', 'usage')
    and (select bool_and(has_function_privilege(${role}::name, f, 'execute'))
           from unnest(${sql.param([...functions])}::text[]) as f)`;
}

/**
 * Lets a role read all tables and views of `ledger`, later ones included; with `wallet` the rows of that wallet only,
 * without it those of all wallets again. Creates the role, without login, if it does not exist. Throws LedgerError
 * `settings` if the database's own role lacks the rights for it. Throws LedgerError `usage` for an invalid or reserved
 * name, and for a role that has every right already.
 */
export async function grantReader(
  ledger: Ledger,
  role: string,
  wallet: string | null = null,
): Promise<GrantReport> {
  return await grant(ledger, role, reader, async (db) => {
    await db.execute(sql`delete from engine.reader_wallets where role = ${role}`);
    if (wallet !== null) {
      await db.execute(
        sql`insert into engine.reader_wallets (wallet, role) values (${wallet}, ${role})`,
      );
      await db.execute(sql`select engine.restrict_readers()`);
    }
    await db.execute(sql`select engine.settle_barriers()`);
  });
}

/**
 * Lets a role call `ledger.take_address`, `ledger.take_further_address` and `ledger.hint`, and see the addresses that
 * it took. Throws as `grantReader`.
 */
export async function grantIssuer(ledger: Ledger, role: string): Promise<GrantReport> {
  return await grant(ledger, role, issuer, (db) => showTaken(db, role));
}

/** Lets a role read the change feed and acknowledge its events, and nothing else. Throws as `grantReader`. */
export async function grantConsumer(ledger: Ledger, role: string): Promise<GrantReport> {
  return await grant(ledger, role, consumer);
}

/** Returns whether the role may read the change feed, which has the events of all wallets. */
export async function isConsumer({ db }: Pick<Ledger, 'db'>, role: string): Promise<boolean> {
  const { rows } = await db.execute<{ granted: boolean }>(consumer.isGranted(role));
  return rows[0]?.granted === true;
}

/** Lets the role see the addresses that it took. If it can see them already, no right is needed to grant this. */
async function showTaken(db: LedgerDb, role: string): Promise<void> {
  const { rows } = await db.execute<{ seen: boolean }>(sql`
    select has_table_privilege(${role}::name, 'ledger.addresses', 'select')
       and exists (select from pg_policy
                    where polrelid = 'ledger.addresses'::regclass and polname = 'taken_addresses') as seen`);
  if (rows[0]?.seen) return;
  await db.execute(sql`select engine.restrict_issuers()`);
  await run(db, 'grant execute on function engine.seen_wallets(name) to %I', role);
  await run(db, 'grant select on table ledger.addresses to %I', role);
}

async function grant(
  ledger: Ledger,
  role: string,
  { statements, isGranted, limits }: Grant,
  further: (db: LedgerDb) => Promise<void> = async () => undefined,
): Promise<GrantReport> {
  requireOwnName(role);
  return await ledger
    .transaction(async (db) => {
      await db.execute(sql`select pg_advisory_xact_lock(${grantLock})`);
      const isNew = !(await isKnown(db, role));
      if (isNew) await run(db, `create role %I nologin connection limit ${connectionsMax}`, role);
      for (const statement of statements) await run(db, statement, role);
      const { rows } = await db.execute<{ granted: boolean }>(isGranted(role));
      if (!rows[0]?.granted) throw forbidden(role, 'the grant had no effect');
      await further(db);
      await letIn(db, role);
      return { isNew, limits, forbidden: await limitRole(db, role, limits, allLimits) };
    })
    .catch((error) => {
      throw grantError(error, role);
    });
}

/** Throws for names that mean every role, no role or the server's own roles, in any spelling: most likely a mistake. */
function requireOwnName(role: string): void {
  requireName('role', role);
  if (/^public$/i.test(role)) throw refused(`${role} means every role of the server`);
  if (/^(none|pg_.*)$/i.test(role)) throw refused(`${role} is a name that PostgreSQL reserves`);
}

/** Returns whether the role exists. Throws for a role that has every right here already. */
async function isKnown(db: LedgerDb, role: string): Promise<boolean> {
  const { rows } = await db.execute<{ isSuper: boolean; isOwner: boolean }>(sql`
    select r.rolsuper as "isSuper",
           exists (select from pg_namespace n where n.nspname in ('ledger', 'engine') and n.nspowner = r.oid)
             or exists (select from pg_class c where c.relnamespace = 'ledger'::regnamespace and c.relowner = r.oid)
             or exists (select from pg_database d where d.datname = current_database() and d.datdba = r.oid) as "isOwner"
      from pg_roles r where r.rolname = ${role}`);
  if (rows[0]?.isSuper) throw refused(`${role} is a superuser and has all rights already`);
  if (rows[0]?.isOwner) throw refused(`${role} owns the ledger or its database already`);
  return rows.length > 0;
}

/** Grants CONNECT if the program's role owns the database: migration 0018 revokes it from PUBLIC there. */
async function letIn(db: LedgerDb, role: string): Promise<void> {
  const { rows } = await db.execute<{ statement: string }>(sql`
    select format('grant connect on database %I to %I', d.datname, ${role}::text) as statement
      from pg_database d where d.datname = current_database() and pg_has_role(d.datdba, 'usage')`);
  for (const { statement } of rows) await db.execute(sql.raw(statement));
}

/** Lets PostgreSQL quote the name, because these statements take no parameters. */
async function run(db: LedgerDb, statement: string, role: string): Promise<void> {
  const { rows } = await db.execute<{ text: string }>(
    sql`select format(${statement}::text, ${role}::text) as text`,
  );
  await db.execute(sql.raw(rows[0]?.text ?? ''));
}

function grantError(error: unknown, role: string): unknown {
  const words = databaseError(error).message;
  if (isForbidden(error)) return forbidden(role, words, error);
  if (isReservedName(error)) return refused(`${role} cannot be a role: ${words}`, error);
  return error;
}

function refused(message: string, cause?: unknown): LedgerError {
  return new LedgerError('usage', message, { cause, cure: 'name another role' });
}

function forbidden(role: string, words: string, cause?: unknown): LedgerError {
  return new LedgerError('settings', `${role} could not be granted its rights: ${words}`, {
    cause,
    cure: 'run the command with a DATABASE_URL whose role owns the schema ledger, and may create roles if this role is new',
  });
}
