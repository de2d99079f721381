import type { Clock } from '../kernel/clock.ts';
import { countWords } from '../kernel/count-words.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import { readPendingMigrations } from '../ledger/connection/migrate-ledger.ts';
import { findOrderProblem } from '../ledger/connection/order-problem.ts';
import { readOnly } from '../ledger/connection/postgres-cures.ts';
import { type DatabaseFacts, readDatabaseFacts } from '../ledger/connection/read-database-facts.ts';
import { findReadOnlySetting, wordsOf } from '../ledger/connection/read-only-setting.ts';
import { findTextProblem } from '../ledger/connection/text-problem.ts';
import { requireOwnQueue } from '../queue/migrate-queue.ts';
import { queueSchema } from '../queue/postgres-queue-options.ts';
import { checkClock } from './check-clock.ts';
import { badFinding, type Finding, failedFinding, okFinding, warningFinding } from './finding.ts';

/** Upper bound of the connections besides the pool: those of queue, liveness and migrations. */
const otherConnections = 10;

/** Findings, and whether the database can issue tickets for requests. */
export type DatabaseCheck = { findings: Finding[]; isUsable: boolean };

/** Checks version, rights, settings, schema and clock of a database that answers. */
export async function checkDatabase(
  ledger: Ledger,
  { clock, poolSize, hasQueue }: { clock: Clock; poolSize: number; hasQueue: boolean },
): Promise<DatabaseCheck> {
  const schemas = ['ledger', 'engine', ...(hasQueue ? [queueSchema] : [])];
  const facts = await readDatabaseFacts(ledger, clock, schemas);
  const migrations = await checkMigrations(ledger, hasQueue);
  const findings = [
    checkVersion(facts),
    ...(await checkTexts(ledger)),
    await checkRights(ledger, facts, migrations.verdict === 'good'),
    checkConnections(facts, poolSize),
    checkDurability(facts),
    migrations,
    checkClock('database-clock', facts.aheadMs, "the database's"),
  ];
  const isUsable = facts.hasTickets && findings.every(({ verdict }) => verdict !== 'bad');
  return { isUsable, findings };
}

function checkVersion({ version, versionNumber }: DatabaseFacts): Finding {
  const name = 'database-version';
  if (versionNumber >= 150_000) return okFinding(name, `PostgreSQL ${version}`);
  return badFinding(name, `PostgreSQL ${version}`, 'upgrade the server to PostgreSQL 15 or later');
}

/** Reports only a database that cannot hold the texts of a ledger, or whose indexes may be in another order. */
async function checkTexts({ db }: Ledger): Promise<Finding[]> {
  const problems = {
    'database-texts': await findTextProblem(db),
    'database-order': await findOrderProblem(db),
  };
  return Object.entries(problems).flatMap(([name, problem]) =>
    problem ? [badFinding(name, problem.what, problem.cure)] : [],
  );
}

async function checkRights(
  { pool }: Ledger,
  facts: DatabaseFacts,
  isMigrated: boolean,
): Promise<Finding> {
  const name = 'database-rights';
  const { isReadOnly, mayCreateSchema, forbidden } = facts;
  if (isReadOnly) {
    const setting = await findReadOnlySetting(pool);
    const words = setting === null ? '' : `: ${wordsOf(setting)}`;
    return badFinding(name, `the connection is read-only${words}`, setting?.reset ?? readOnly.cure);
  }
  if (forbidden.length > 0) {
    const cure =
      'make the role of DATABASE_URL their owner, or grant it the rights in docs/roles.md';
    return badFinding(name, `the role may not use ${forbidden.join(', ')}`, cure);
  }
  if (mayCreateSchema) return okFinding(name, 'may create schemas and write tables');
  const cure = 'grant the role of DATABASE_URL the right CREATE on the database';
  const seen = 'may not create schemas in the database';
  if (!isMigrated) return badFinding(name, seen, cure);
  return warningFinding(name, `${seen}: a later version cannot migrate the schema`, cure);
}

function checkConnections({ connectionsMax }: DatabaseFacts, poolSize: number): Finding {
  const name = 'database-connections';
  const seen = `the server allows ${connectionsMax}, DATABASE_POOL_SIZE=${poolSize}`;
  if (poolSize + otherConnections <= connectionsMax) return okFinding(name, seen);
  const cure = `lower DATABASE_POOL_SIZE or raise max_connections: each process opens up to ${otherConnections} connections more`;
  return warningFinding(name, seen, cure);
}

function checkDurability({ unsafe }: DatabaseFacts): Finding {
  const name = 'database-durability';
  if (unsafe.length === 0)
    return okFinding(name, 'fsync, full_page_writes and synchronous_commit are not off');
  const cures = unsafe.map((setting) =>
    setting === 'synchronous_commit'
      ? 'set synchronous_commit=on: a crash may lose changes whose events the feed has already delivered'
      : `set ${setting}=on: a power failure may damage the database, or make addresses available again that were handed out`,
  );
  return warningFinding(name, `off: ${unsafe.join(', ')}`, cures.join('; '));
}

async function checkMigrations(ledger: Ledger, hasQueue: boolean): Promise<Finding> {
  const name = 'migrations';
  try {
    if (hasQueue) await requireOwnQueue((text, values) => ledger.pool.query(text, values));
    const { pending, isUnfinished } = await readPendingMigrations(ledger);
    if (pending === 0) return okFinding(name, 'the schema is up to date');
    if (isUnfinished)
      return badFinding(
        name,
        `the schema is incomplete: creating it failed or was interrupted, and ${countWords(pending)} migrations are missing`,
        'run `wallet-ledger migrate`: it resumes, and its error names the cause',
      );
    const cure = 'run `wallet-ledger migrate`; start, sync and backfill migrate as well';
    return warningFinding(name, `${pending} migrations have not been applied`, cure);
  } catch (thrown) {
    return failedFinding(name, thrown);
  }
}
