import { openEmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { connectLedger, type Ledger, reachLedger } from '../ledger/connect-ledger.ts';
import { judgeByStates } from '../ledger/final-states.ts';
import { migrateLedger } from '../ledger/migrate-ledger.ts';
import { mirrorPools } from '../ledger/pool-store.ts';
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

/** As `openLedger`, with the schema brought up to date, and rows and pools following the settings. */
export async function openMigratedLedger(context: CommandContext): Promise<OpenedLedger> {
  const opened = await openLedger(context);
  await migrate(opened, context);
  const turned = await judgeByStates(opened.ledger, context.settings.states);
  if (turned > 0)
    context.log.info({ rows: turned }, 'rows judged again by the states of the settings');
  await followPools(opened, context);
  return opened;
}

/** A process that is told of no pools leaves alone those that others fill. */
export async function followPools(
  { ledger }: OpenedLedger,
  { settings }: CommandContext,
): Promise<void> {
  const { chains } = settings.pools;
  if (chains.length > 0) await mirrorPools(ledger, chains);
}

/** Migrates the ledger's schema and, where the queue lives in PostgreSQL, the queue's. */
export async function migrate(opened: OpenedLedger, { log }: CommandContext): Promise<void> {
  const { applied } = await migrateLedger(opened.ledger);
  if (applied > 0) log.info({ migrations: applied }, 'schema brought up to date');
  if (opened.queueAddress.kind === 'postgres') await migrateQueue(opened.connectionString);
}
