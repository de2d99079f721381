import { openEmbeddedPostgres } from '../../embedded/embedded-postgres.ts';
import { LedgerError } from '../../kernel/errors.ts';
import { addPools, mirrorPools, type PoolChange } from '../../ledger/addresses/pool-store.ts';
import { connectLedger, type Ledger, reachLedger } from '../../ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../ledger/connection/migrate-ledger.ts';
import { findOrderProblem } from '../../ledger/connection/order-problem.ts';
import { refreshPublications } from '../../ledger/connection/publish-tables.ts';
import {
  type Classified,
  compareStates,
  reclassifyByStates,
} from '../../ledger/transactions/final-states.ts';
import { migrateQueue, requireOwnQueue } from '../../queue/migrate-queue.ts';
import type { QueueAddress } from '../../queue/queue-backend.ts';
import type { CommandContext } from './command-context.ts';

export type OpenedLedger = {
  ledger: Ledger;
  connectionString: string;
  queueAddress: QueueAddress;
};

const reachMs = 15_000;
const progressEveryMs = 5_000;

/**
 * Connects to the database of the settings, or to the embedded one, and waits until it answers. The ledger is that of
 * the settings' wallet. Throws LedgerError `database-unreachable` if lookups in the database may miss rows.
 */
export async function openLedger({
  settings,
  log,
  shutdown,
}: CommandContext): Promise<OpenedLedger> {
  const { url, dataDir, poolSize } = settings.database;
  const connectionString = url ?? (await openEmbedded());
  const ledger = connectLedger({ connectionString, poolSize, log, wallet: settings.wallet });
  shutdown.add('database connections', ledger.close, ledger.cut);
  await reachLedger(ledger, reachMs, { log, signal: shutdown.signal });
  await requireOrder(ledger);
  const { redisUrl } = settings.queue;
  const queueAddress: QueueAddress =
    redisUrl === null ? { kind: 'postgres', connectionString } : { kind: 'redis', url: redisUrl };
  return { ledger, connectionString, queueAddress };

  async function openEmbedded(): Promise<string> {
    const embedded = await openEmbeddedPostgres({ dataDir, log, signal: shutdown.signal });
    shutdown.add('embedded database', () => embedded.close());
    return embedded.connectionString;
  }
}

/** Opens the ledger like `openLedger` and updates its schema. */
export async function openMigratedLedger(context: CommandContext): Promise<OpenedLedger> {
  const opened = await openLedger(context);
  await migrate(opened, context);
  return opened;
}

/** Classifies the stored rows by the states of the settings; resumes a classification that was interrupted. */
export async function setStates(
  ledger: Ledger,
  { settings, log }: Pick<CommandContext, 'settings' | 'log'>,
): Promise<void> {
  let reportedAt = performance.now();
  // Reports progress: a million changed rows take minutes, and a daemon does not listen before the end.
  const report = ({ read, changed }: Classified) => {
    if (performance.now() - reportedAt < progressEveryMs) return;
    reportedAt = performance.now();
    log.info(
      { read, changed },
      'rows are being reclassified; the command continues after the last one',
    );
  };
  const changed = await reclassifyByStates(ledger, settings.states, report);
  if (changed > 0)
    log.info(
      { rows: changed },
      'rows reclassified by WALLET_FINAL_STATES and WALLET_SUCCESS_STATES',
    );
}

/**
 * Classifies the rows of a new ledger like `setStates`. Leaves those of another ledger as they are, with a warning if
 * the settings differ: a command with another environment must not change what a daemon relies on.
 */
export async function keepStates(
  ledger: Ledger,
  context: Pick<CommandContext, 'settings' | 'log'>,
): Promise<void> {
  const inForce = await compareStates(ledger.db, context.settings.states);
  if (inForce === 'none') await setStates(ledger, context);
  if (inForce !== 'others') return;
  context.log.warn(
    {},
    'WALLET_FINAL_STATES or WALLET_SUCCESS_STATES differ from the states of the ledger, which stay in force; `wallet-ledger start` and `backfill` apply the settings',
  );
}

/**
 * Replaces the ledger's pools by those of the settings, and logs the changes. Without ADDRESS_POOLS it keeps the
 * pools that other processes fill.
 */
export async function setPools(
  ledger: Ledger,
  { settings, log }: Pick<CommandContext, 'settings' | 'log'>,
): Promise<void> {
  const { chains, areSet } = settings.pools;
  const changes = areSet ? await mirrorPools(ledger, chains) : [];
  if (changes.length > 0)
    log.info({ pools: changes.map(poolWords) }, 'pools updated from ADDRESS_POOLS');
}

/**
 * Adds the pools of the settings that the ledger does not have yet. Existing pools keep their numbers: a command with
 * another environment must not change what a daemon fills.
 */
export async function addMissingPools(
  ledger: Ledger,
  { settings, log }: Pick<CommandContext, 'settings' | 'log'>,
): Promise<void> {
  const { added, differing } = await addPools(ledger, settings.pools.chains);
  if (added.length > 0) log.info({ pools: added.map(poolWords) }, 'pools added from ADDRESS_POOLS');
  if (differing.length > 0)
    log.warn(
      { pools: differing.map(poolWords) },
      "ADDRESS_POOLS differs from the ledger's pools, which stay as they are; `wallet-ledger start` updates them",
    );
}

/** Formats a pool before and after a change, each in the form of ADDRESS_POOLS. */
function poolWords({ slip44, before, after }: PoolChange): string {
  const words = (pool: PoolChange['before']) =>
    pool === null ? 'none' : `${slip44}:${pool.threshold}:${pool.target}`;
  return `${words(before)} -> ${words(after)}`;
}

async function requireOrder({ db }: Ledger): Promise<void> {
  const problem = await findOrderProblem(db);
  if (problem) throw new LedgerError('database-unreachable', problem.what, { cure: problem.cure });
}

/**
 * Migrates the ledger's schema and, if the queue is in PostgreSQL, the queue's schema. Adds new tables to the program's
 * publications.
 */
export async function migrate(opened: OpenedLedger, { log }: CommandContext): Promise<void> {
  const { ledger, queueAddress } = opened;
  // Checked before anything is created.
  if (queueAddress.kind === 'postgres')
    await requireOwnQueue((statement, values) => ledger.pool.query(statement, values));
  const { applied } = await migrateLedger(ledger, { log });
  if (applied > 0) log.info({ migrations: applied }, 'schema brought up to date');
  const publications = await refreshPublications(ledger).catch((error: unknown) => {
    if (!(error instanceof LedgerError)) throw error;
    log.warn({ error }, 'publications lack tables: run `wallet-ledger migrate` as their owner');
    return [];
  });
  if (publications.length > 0) log.info({ publications }, 'publications brought up to date');
  if (queueAddress.kind === 'postgres') await migrateQueue(opened.connectionString, { log });
}
