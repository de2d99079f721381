import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { chooseServerAccount } from '../../src/embedded/server-account.ts';
import { locateReachableBinaries } from '../../src/embedded/server-binaries.ts';
import { stopChild } from '../support/embedded-server.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

export type OwnPostgres = {
  url: string;
  /** Ends it as a crash does; what was not committed is lost. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** The folder that holds its data. */
  data: string;
};

/** A PostgreSQL of the test's own, which keeps what it has committed; removed with the test. */
export async function startOwnPostgres(
  prepareHome: (home: string) => void = () => undefined,
): Promise<OwnPostgres> {
  const home = mkdtempSync(join(tmpdir(), 'wallet-ledger-own-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  prepareHome(home);
  // PostgreSQL, which is not root, passes through.
  chmodSync(home, 0o711);
  const data = join(home, 'data');
  mkdirSync(data, { mode: 0o700 });
  const account = await chooseServerAccount([]);
  const binaries = await locateReachableBinaries(account);
  if (account.owner) chownSync(data, account.owner.uid, account.owner.gid);
  const port = await freePort();
  const options = {
    cwd: dirname(binaries.postgres),
    env: { LC_ALL: 'C', TZ: 'UTC' },
    stdio: 'ignore' as const,
    ...account.owner,
  };
  execFileSync(binaries.initdb, ['-D', data, '-U', 'postgres', '-A', 'trust'], options);
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_wal_size=32MB',
    'min_wal_size=32MB',
    'shared_buffers=16MB',
  ].flatMap((setting) => ['-c', setting]);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const spawnServer = () =>
    spawn(binaries.postgres, ['-D', data, '-p', String(port), ...settings], options);
  let server: ReturnType<typeof spawnServer> | undefined;
  const start = async () => {
    const child = spawnServer();
    server = child;
    await Promise.race([until(() => answers(url), 60_000), once(child, 'exit')]);
  };
  onTestFinished(async () => {
    if (server) await stopChild(server, 'SIGQUIT');
  });
  await start();
  return {
    url,
    data,
    start,
    crash: async () => {
      if (server) await stopChild(server, 'SIGQUIT');
    },
  };
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  await client.end();
  return true;
}
