import { openEmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { addPools, mirrorPools, type PoolChange } from '../ledger/addresses/pool-store.ts';
import { connectLedger, type Ledger, reachLedger } from '../ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../ledger/connection/migrate-ledger.ts';
import { reclassifyByStates } from '../ledger/transactions/final-states.ts';
import { migrateQueue } from '../queue/migrate-queue.ts';
import type { QueueAddress } from '../queue/queue-backend.ts';
import type { CommandContext } from './command-context.ts';

export type OpenedLedger = {
  ledger: Ledger;
  connectionString: string;
  queueAddress: QueueAddress;
};

const reachMs = 15_000;

/** Connects to the database of the settings, or to the embedded one, and waits until it answers. */
export async function openLedger({
  settings,
  log,
  shutdown,
}: CommandContext): Promise<OpenedLedger> {
  const { url, dataDir, poolSize } = settings.database;
  const connectionString = url ?? (await openEmbedded());
  const ledger = connectLedger({ connectionString, poolSize, log });
  shutdown.add('database connections', () => ledger.close());
  await reachLedger(ledger, reachMs, shutdown.signal);
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

/**
 * Opens the ledger like `openLedger`, updates its schema, and reclassifies its rows by the settings. `check` may refuse
 * the ledger before any row is reclassified.
 */
export async function openMigratedLedger(
  context: CommandContext,
  check: (ledger: Ledger) => Promise<void> = async () => undefined,
): Promise<OpenedLedger> {
  const opened = await openLedger(context);
  await migrate(opened, context);
  await check(opened.ledger);
  const turned = await reclassifyByStates(opened.ledger, context.settings.states);
  if (turned > 0)
    context.log.info({ rows: turned }, 'rows judged again by the states of the settings');
  return opened;
}

/**
 * Replaces the ledger's pools by those of the settings, and logs the changes. Without pools in the settings, it keeps
 * the pools that other processes fill.
 */
export async function setPools(
  ledger: Ledger,
  { settings, log }: Pick<CommandContext, 'settings' | 'log'>,
): Promise<void> {
  const { chains } = settings.pools;
  const changes = chains.length > 0 ? await mirrorPools(ledger, chains) : [];
  if (changes.length > 0)
    log.info({ pools: changes.map(poolWords) }, 'the pools were set as ADDRESS_POOLS says');
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
  if (added.length > 0) log.info({ pools: added.map(poolWords) }, 'pools were added');
  if (differing.length > 0)
    log.warn(
      { pools: differing.map(poolWords) },
      'ADDRESS_POOLS differs from the pools of the ledger, which stay; `wallet-ledger start` sets them',
    );
}

/** Formats a pool before and after a change, each in the form of ADDRESS_POOLS. */
function poolWords({ slip44, before, after }: PoolChange): string {
  const words = (pool: PoolChange['before']) =>
    pool === null ? 'none' : `${slip44}:${pool.threshold}:${pool.target}`;
  return `${words(before)} -> ${words(after)}`;
}

/** Migrates the ledger's schema and, if the queue is in PostgreSQL, the queue's schema. */
export async function migrate(opened: OpenedLedger, { log }: CommandContext): Promise<void> {
  const { applied } = await migrateLedger(opened.ledger, { log });
  if (applied > 0) log.info({ migrations: applied }, 'schema brought up to date');
  if (opened.queueAddress.kind === 'postgres') await migrateQueue(opened.connectionString);
}
