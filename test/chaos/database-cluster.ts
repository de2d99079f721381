import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { databaseName, initialiseData, userName } from '../../src/embedded/initialise-data.ts';
import { findPostmaster, isAlive, readPostmaster } from '../../src/embedded/postmaster.ts';
import { chooseServerAccount } from '../../src/embedded/server-account.ts';
import { locateServerBinaries } from '../../src/embedded/server-binaries.ts';
import { ensurePassword, locateServerFiles, makeHome } from '../../src/embedded/server-files.ts';
import { startServer } from '../../src/embedded/start-server.ts';

/** A PostgreSQL of the run's own, with its usual durability: what it has committed it keeps. */
export type DatabaseCluster = {
  port: number;
  password: string;
  /** The address for clients that reach it at another port. */
  urlAt(port: number): string;
  /** Ends it without a checkpoint: SIGQUIT is what `pg_ctl stop -m immediate` sends. */
  crash(signal: 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  /** Starts it where it was, and waits until it is ready. Harmless where it runs. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** For the very last moment: ends it at once, without waiting. */
  kill(): void;
};

const startMaxMs = 60_000;

/** Makes a data directory in `home` and starts a server on it. */
export async function startDatabaseCluster(
  home: string,
  configuration: string[] = [],
): Promise<DatabaseCluster> {
  const files = locateServerFiles(home);
  const binaries = await locateServerBinaries();
  await makeHome(files);
  const account = await chooseServerAccount(files, binaries);
  const password = await ensurePassword(files, account.owner);
  const { signal } = new AbortController();
  await initialiseData(files, binaries, account, signal);
  await appendFile(
    join(files.data, 'postgresql.conf'),
    configuration.map((line) => `${line}\n`).join(''),
  );

  const pid = () => readPostmaster(files.data)?.pid;
  const isRunning = () => {
    const own = pid();
    return own !== undefined && isAlive(own);
  };
  const start = async () => {
    const giveUpAt = performance.now() + startMaxMs;
    while (!isRunning() || readPostmaster(files.data)?.isReady !== true) {
      if (performance.now() > giveUpAt) throw new Error('PostgreSQL does not start again');
      // A killed postmaster's children hold the memory for a moment, and its file stays.
      const other = await findPostmaster(files.data, signal);
      if (other) await delay(50);
      else if (!(await startServer(files, binaries, account, signal))) await delay(100);
    }
  };
  const end = async (name: NodeJS.Signals) => {
    const own = pid();
    if (own === undefined || !isAlive(own)) return;
    process.kill(own, name);
    while (isAlive(own)) await delay(20);
  };
  await start();
  const port = readPostmaster(files.data)?.port;
  if (!port) throw new Error('PostgreSQL does not say its port');
  return {
    port,
    password,
    urlAt: (at) => `postgres://${userName}:${password}@127.0.0.1:${at}/${databaseName}`,
    crash: end,
    start,
    async stop() {
      await end('SIGINT');
      await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
    kill() {
      const own = pid();
      if (own !== undefined && isAlive(own)) process.kill(own, 'SIGQUIT');
    },
  };
}
