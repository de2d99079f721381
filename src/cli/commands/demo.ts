import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { readEnvironment } from '../../config/read-environment.ts';
import { settingsTable } from '../../config/settings-table.ts';
import { LedgerError } from '../../kernel/errors.ts';
import { type Environment, transactionTypes } from '../../kernel/vocabulary.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { sandboxSettings } from '../../sandbox/sandbox-settings.ts';
import { type Sandbox, startSandbox } from '../../sandbox/start-sandbox.ts';
import { fillPools } from '../../sync/pools/fill-pools.ts';
import { runBackfill } from '../../sync/run-backfill.ts';
import { type CommandContext, runCommand } from '../context/command-context.ts';
import { composeAll } from '../context/compose-sync.ts';
import { openLedger, setPools, setStates } from '../context/open-ledger.ts';
import { demoSummary } from '../output/demo-summary.ts';
import { showArrivals } from '../output/show-arrivals.ts';
import { createProgress } from '../progress/create-progress.ts';
import { readAllStatus } from '../read-all-status.ts';
import { startDaemon } from './start.ts';

const demoTransactions = 6_000;
const arrivalsPerSecond = 0.5;
/** Pools of two chains that the sandbox serves. */
const demoPools = '60:50:100,195:20:50';
/** Arbitrary key of the advisory lock that keeps a second demo out of this one's database. */
const demoLock = 7_246_002;

/**
 * Runs `wallet-ledger demo`: fills a separate embedded database from a sandbox service with one wallet or several. With
 * `once` it ends there; otherwise it continues as a daemon and prints what arrives.
 */
export async function demo(options: { once?: boolean; wallets?: string[] }): Promise<number> {
  const sandbox = await startSandbox({
    ...(options.wallets && { wallets: options.wallets }),
    transactions: demoTransactions,
    paysKnownOnly: true,
    arrivalsPerSecond: options.once ? 0 : arrivalsPerSecond,
  });
  try {
    const settings = await demoSettings(sandbox);
    return await runCommand((context) => runDemo(context, sandbox, options.once ?? false), {
      extraSettings: settings,
    });
  } finally {
    await sandbox.close();
  }
}

/** Settings of the user that the demo keeps; all others belong to another wallet and service. */
const keptSettings = /^(LEDGER_DATA_DIR|HTTP_|LOG_)/;

/**
 * Returns the demo's settings. Every setting of the user that the demo does not keep is unset, files of secrets
 * included: DATABASE_URL_FILE would name a database that the demo then empties.
 */
async function demoSettings(sandbox: Sandbox): Promise<Environment> {
  const env = readEnvironment();
  const isOfOthers = (name: string) =>
    name.includes('__') ||
    (name.replace(/_FILE$/, '') in settingsTable && !keptSettings.test(name));
  const others = [...Object.keys(settingsTable), ...Object.keys(env)].filter(isOfOthers);
  return {
    ...Object.fromEntries(others.map((name) => [name, undefined])),
    ...sandboxSettings(sandbox),
    WALLET_MAX_RPS: 'off',
    ADDRESS_POOLS: demoPools,
    LEDGER_DATA_DIR: join(env['LEDGER_DATA_DIR'] ?? '.wallet-ledger', 'demo'),
    SYNC_TRANSACTIONS_EVERY: '1s',
    SYNC_DETAILS_EVERY: '2s',
    SYNC_BALANCES_EVERY: '10s',
    HINT_TOKEN: randomBytes(16).toString('hex'),
    HTTP_PORT: env['HTTP_PORT'] ?? ((await isPortFree(8080)) ? '8080' : '0'),
    LOG_LEVEL: env['LOG_LEVEL'] ?? 'warn',
  };
}

async function runDemo(
  context: CommandContext,
  sandbox: Sandbox,
  isOnce: boolean,
): Promise<number> {
  process.stdout.write('Starting an embedded PostgreSQL and a sandbox wallet service …\n');
  const { ledger, connectionString } = await openLedger(context);
  await emptyDatabase(ledger, context);
  const { incomplete, seconds, requests } = await fillFromNothing(context);
  const status = await readAllStatus(ledger, context.settings);
  const { columns } = process.stdout;
  process.stdout.write(demoSummary(status, { connectionString, seconds, requests, columns }));
  if (isOnce) {
    process.stdout.write('  The database stops with this demo; without --once it stays up.\n');
    sayLeft(context);
    return incomplete.length === 0 ? 0 : 3;
  }
  const daemon = await startDaemon(context);
  const { http } = context.settings;
  if (daemon.url && http) sandbox.pushTo(`${daemon.url}hint/${http.hintToken}`);
  await showArrivals(daemon.feed, context, [
    `Status page: ${daemon.url ?? 'off'}`,
    `psql "${connectionString}"`,
    'Ctrl-C ends the demo.',
  ]);
  sayLeft(context);
  return 0;
}

/** Prints what the demo leaves on this machine. */
function sayLeft({ settings }: CommandContext): void {
  const { dataDir } = settings.database;
  process.stdout.write(
    `\nThe demo leaves its database in ${resolve(dataDir)}; the next demo starts again from nothing. Remove the directory when you no longer need it.\n`,
  );
}

/** Reads everything of each wallet once, with progress. `incomplete`: names of the parts that did not finish. */
async function fillFromNothing(
  context: CommandContext,
): Promise<{ incomplete: string[]; seconds: number; requests: number }> {
  const { signal } = context.shutdown;
  let progress = createProgress(context.screen);
  try {
    const { composed } = await composeAll(context, () => ({
      onSend: () => progress.observers.onSend(),
      onAttempt: (attempt) => progress.observers.onAttempt(attempt),
      onPause: (ms) => progress.observers.onPause(ms),
      onRun: (part, report) => progress.observers.onRun(part, report),
    }));
    const incomplete: string[] = [];
    const startedAt = performance.now();
    for (const { context: own, sync } of composed) {
      progress.stop();
      if (composed.length > 1) process.stdout.write(`Wallet ${sync.ledger.wallet}\n`);
      progress = createProgress(context.screen);
      progress.observers.onOpened();
      await setStates(sync.ledger, own);
      await setPools(sync.ledger, own);
      const missing = await runBackfill(sync, {
        types: transactionTypes,
        withDetails: true,
        isRestart: false,
        signal,
        onProgress: (...state) => progress.onProgress(...state),
      });
      const pools = await fillPools(sync, { signal, whenBusy: 'wait' });
      incomplete.push(...missing, ...(pools.isComplete ? [] : ['pools']));
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    const requests = composed.reduce((sum, { sync }) => sum + sync.client.requests(), 0);
    return { incomplete, seconds, requests };
  } finally {
    progress.stop();
  }
}

/**
 * Empties the demo's database. The sandbox's history ends at the time of its start, so it differs from the last demo's.
 */
async function emptyDatabase(ledger: Ledger, { shutdown }: CommandContext): Promise<void> {
  const client = await ledger.pool.connect();
  shutdown.add('demo lock', () => client.release(true));
  const { rows } = await client.query('select pg_try_advisory_lock($1) as is_mine', [demoLock]);
  if (!rows[0].is_mine) {
    throw new LedgerError('usage', 'another demo is running on this data directory', {
      cure: 'end it, or set LEDGER_DATA_DIR to another directory',
    });
  }
  await client.query('drop schema if exists ledger, engine, own, queue, drizzle cascade');
}

async function isPortFree(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
