import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { DrizzleQueryError } from 'drizzle-orm/errors';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle } from 'drizzle-orm/node-postgres';
import { PgDialect, type PgSession } from 'drizzle-orm/pg-core';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../../kernel/errors.ts';
import { type Log, silentLog } from '../../kernel/log.ts';
import { type Ask, namingHolders } from '../../kernel/name-lock-holders.ts';
import { packageRoot } from '../../kernel/package-root.ts';
import { judgeStored } from '../addresses/refused-addresses.ts';
import { countMissing, damaged, lacksRecords } from './applied-migrations.ts';
import type { Ledger, LedgerDb } from './connect-ledger.ts';
import { forNewLedger } from './new-ledger-migrations.ts';
import { isConflict, isLockTimeout, sqlStateOf } from './postgres-codes.ts';
import { out, query, truth } from './query-rows.ts';
import { findTextProblem } from './text-problem.ts';

/** Advisory lock; any constant works that stays the same in every version. */
const migrationLock = 7_246_001;
/** Upper bound of the wait for another process, which may be migrating a large ledger. */
const migrationWaitMs = 600_000;
/**
 * Lock timeout of a statement on a table. Other sessions queue behind a waiting one, so it times out soon and retries.
 */
const tableWaitMs = 3_000;
const giveWayMs = 2_000;
const triesMax = 24;

/**
 * Applies all pending migrations in one transaction, under an advisory lock. A transaction holds a lock on each object
 * that it makes: in a new ledger, or where a small server has no room for all locks, each migration has its own. Of
 * several processes that start at once, one applies them, and the others wait. Needs no right to create objects if
 * nothing is pending. Logs the sessions that block it, and names them in the error if a lock is not free in time.
 * Throws the errors of `countMissing`.
 */
export async function migrateLedger(
  ledger: Ledger,
  { log = silentLog, waitMs = migrationWaitMs }: { log?: Log; waitMs?: number } = {},
): Promise<{ applied: number }> {
  const migrations = readMigrations();
  const { known } = migrations;
  const missing = await countMissing(ledger.db, known);
  if (missing === 0) return { applied: 0 };
  if (missing === known.length) await requireFittingTexts(ledger.db);
  const client = await ledger.patient();
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ask: Ask = (statement, values) => ledger.pool.query(statement, values);
    return await namingHolders(ask, rows[0]?.pid ?? 0, log, async () => {
      await client.query(`set lock_timeout = ${waitMs}`);
      await client.query('select pg_advisory_lock($1)', [migrationLock]);
      await client.query(`set lock_timeout = ${tableWaitMs}`);
      const db = drizzle(client);
      const applied = await countMissing(db, known);
      if (applied > 0) {
        await apply(db, migrations, applied);
        await db.execute(sql`select engine.settle_rights()`);
        // A migration that recreates a view leaves it without the condition on the wallet, which this call restores.
        await db.execute(sql`select engine.settle_barriers()`);
        // Versions that left addresses without a judgement had one wallet.
        const refused = await judgeStored(ledger.forWallet('main'));
        if (refused > 0)
          log.warn(
            { addresses: refused },
            'stored addresses are not valid addresses of their chains',
          );
      }
      return { applied };
    });
  } finally {
    // Ends the connection, which releases the lock in every case.
    await client.end();
  }
}

async function apply(
  db: LedgerDb,
  { migrationsFolder, known }: Migrations,
  missing: number,
): Promise<void> {
  // Drizzle's types do not let it take its own session.
  const session = db._.session as unknown as PgSession;
  const run = (step: MigrationMeta[]) =>
    givingWay(() => new PgDialect().migrate(step, session, { migrationsFolder }));
  try {
    const isNew = missing === known.length;
    const isUnfinished = !isNew && !(await hasRuns(db));
    // Functions may be made before the views that they read.
    if (isNew || isUnfinished) await db.execute(sql`set check_function_bodies = off`);
    if (isUnfinished) await givingWay(() => makeOwnViews(db));
    if (!isNew && (await fits(() => run(known)))) return;
    const steps = isNew ? forNewLedger(known) : known;
    // Each step takes all migrations so far, and skips those that are applied.
    for (const index of steps.keys()) await run(steps.slice(0, index + 1));
  } catch (error) {
    throw await explained(error, db, known, missing);
  }
}

/**
 * Creates the views of the schema `own` if the ledger is of a version that has them. A new ledger whose migration was
 * interrupted lacks some of them, and the remaining migrations would fail without them.
 */
async function makeOwnViews(db: LedgerDb): Promise<void> {
  await db.execute(sql`
    do $$ begin
      if to_regproc('engine.make_own_views') is not null then perform engine.make_own_views(); end if;
    end $$`);
}

/** Runs the work. Returns false if the server has no room for its locks; then nothing has changed. */
async function fits(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (sqlStateOf(error) === outOfMemory) return false;
    throw error;
  }
}

/** Throws LedgerError `settings` before a ledger is made in a database that cannot hold its texts. */
async function requireFittingTexts(db: LedgerDb): Promise<void> {
  const problem = await findTextProblem(db);
  if (problem) throw new LedgerError('settings', problem.what, { cure: problem.cure });
}

/**
 * Repeats work that another session blocked. The work may also lose a deadlock against a session that reads one table
 * and waits for another.
 */
async function givingWay(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await work();
      return;
    } catch (error) {
      const isInTheWay = isLockTimeout(error) || isConflict(error);
      if (!isInTheWay || tries === triesMax) throw error;
      await abortableSleep(giveWayMs);
    }
  }
}

/**
 * Returns the number of migrations that the schema lacks. `isUnfinished`: the ledger is new, and making it failed or
 * was interrupted. Throws the errors of `countMissing`.
 */
export async function readPendingMigrations({
  db,
}: Ledger): Promise<{ pending: number; isUnfinished: boolean }> {
  const { known } = readMigrations();
  const pending = await countMissing(db, known);
  const isPartial = pending > 0 && pending < known.length;
  return { pending, isUnfinished: isPartial && !(await hasRuns(db)) };
}

/** Returns true if jobs have run on the ledger: its migration was complete before them. */
async function hasRuns(db: LedgerDb): Promise<boolean> {
  const [table] = await query(db)`
    select to_regclass('ledger.sync_runs') is not null as ${out('exists', truth)}`;
  if (!table?.exists) return false;
  const [found] = await query(db)`
    select exists (select from ledger.sync_runs) as ${out('runs', truth)}`;
  return found?.runs ?? false;
}

type Migrations = { migrationsFolder: string; known: MigrationMeta[] };

function readMigrations(): Migrations {
  const migrationsFolder = join(packageRoot(), 'migrations');
  return { migrationsFolder, known: readMigrationFiles({ migrationsFolder }) };
}

/**
 * Collisions of a migration with the schema: a name that exists, one that is missing, or a function whose text is not
 * the one to be changed (ASSERT).
 */
const collision = /^(42(?!501)|P0004)/;

/** SQLSTATE out_of_memory, also of the table of locks. */
const outOfMemory = '53200';

function lacksLocks(cause: Error): LedgerError {
  return new LedgerError('database-unreachable', 'the server has too little room for locks', {
    cause,
    cure: 'raise max_locks_per_transaction (256 is enough), restart PostgreSQL, then run `wallet-ledger migrate` again: it resumes',
  });
}

/** SQLSTATE assert_failure: a migration did not find the text that it changes, and its message is the whole text. */
const unlikeExpected = 'P0004';

/**
 * Returns the error that explains why a migration failed. It collides with existing objects if it was applied before
 * and its record was lost. Otherwise the schema is not as the earlier migrations left it.
 */
async function explained(
  error: unknown,
  db: LedgerDb,
  known: readonly MigrationMeta[],
  missing: number,
): Promise<unknown> {
  const state = sqlStateOf(error) ?? '';
  if (state === outOfMemory) return lacksLocks(toError(error));
  const isNew = missing === known.length;
  if (!collision.test(state) || (isNew && state !== unlikeExpected)) return error;
  const migration = known[placeOfFailure(error, isNew ? forNewLedger(known) : known, missing)];
  if (!migration) return error;
  const cause = toError(toError(error).cause ?? error);
  const reason =
    state === unlikeExpected ? 'a definition is not the one that it changes' : cause.message;
  if (!isNew && (await lacksRecords(db)))
    return damaged(migration, `lacks one that the schema has: ${reason}`);
  return new LedgerError(
    'unexpected',
    `the migration ${nameOf(known.indexOf(migration))} fails, because the schema is not as the earlier ones left it: ${reason}`,
    {
      cause: toError(error),
      cure: 'nothing is lost, and the table of migrations is right: leave it as it is. If the schema was changed by hand, change it back or restore it, then run `wallet-ledger migrate` again; else report this with the version of PostgreSQL and the settings of the role',
    },
  );
}

/** Returns the place of the migration whose statement failed; without a statement, that of the first missing one. */
function placeOfFailure(error: unknown, steps: readonly MigrationMeta[], missing: number): number {
  const statement = error instanceof DrizzleQueryError ? error.query : '';
  const failed = steps.findIndex(({ sql }) => sql.includes(statement));
  return failed < 0 ? steps.length - missing : failed;
}

function nameOf(place: number): string {
  const path = join(packageRoot(), 'migrations', 'meta', '_journal.json');
  const { entries } = JSON.parse(readFileSync(path, 'utf8')) as { entries: { tag: string }[] };
  return entries[place]?.tag ?? `number ${place}`;
}
