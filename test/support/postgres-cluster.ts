import { execFile } from 'node:child_process';
import { appendFileSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { ordinaryAccount } from './embedded-server.ts';
import { freePort } from './free-port.ts';
import { toolsFolder } from './postgres-tools.ts';

const run = promisify(execFile);
const account = process.getuid?.() === 0 ? await ordinaryAccount() : undefined;

/** A new cluster; its server listens on loopback, and is removed with the test. */
export type Cluster = {
  data: string;
  url(database?: string): string;
  start(): Promise<void>;
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  promote(): Promise<void>;
};

/** Runs one of PostgreSQL's programs; resolves to its output. */
export async function runTool(program: string, args: string[]): Promise<string> {
  if (!toolsFolder) throw new Error('there is no PostgreSQL with its tools');
  const { stdout } = await run(join(toolsFolder, program), args, {
    ...account,
    cwd: tmpdir(),
    env: { LC_ALL: 'C', TZ: 'UTC', PATH: process.env['PATH'] ?? '' },
    maxBuffer: 256 * 1024 * 1024,
  });
  return stdout;
}

/** Registers a callback for the end of a test or file. */
type AtEnd = (work: () => Promise<void> | void) => void;

/** An empty folder of the server's account, removed with the test. */
export function serverFolder(atEnd: AtEnd = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'wallet-ledger-cluster-'));
  if (account) chownSync(folder, account.uid, account.gid);
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export async function newCluster(atEnd: AtEnd = onTestFinished): Promise<Cluster> {
  const data = join(serverFolder(atEnd), 'data');
  await runTool('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync']);
  const cluster = await clusterOf(data, atEnd);
  await cluster.start();
  return cluster;
}

/**
 * Starts a cluster with files that another one left when it stopped: to the server, this is that cluster's next start.
 */
export async function continueCluster(stopped: Cluster): Promise<Cluster> {
  const data = join(serverFolder(), 'data');
  await run('cp', ['-a', stopped.data, data]);
  const cluster = await clusterOf(data);
  await cluster.start();
  return cluster;
}

/** A copy of a running cluster's files; `settings` and `signal` say how it starts. */
export async function copyCluster(
  of: Cluster,
  { settings = [], signal }: { settings?: string[]; signal?: 'standby' | 'recovery' } = {},
): Promise<Cluster> {
  const data = join(serverFolder(), 'data');
  await runTool('pg_basebackup', ['-d', of.url(), '-D', data, '-X', 'stream', '-c', 'fast']);
  appendFileSync(join(data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
  if (signal) appendFileSync(join(data, `${signal}.signal`), '');
  return await clusterOf(data);
}

async function clusterOf(data: string, atEnd: AtEnd = onTestFinished): Promise<Cluster> {
  const port = await freePort();
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c shared_buffers=16MB -c max_wal_senders=8`;
  const control = (...args: string[]) =>
    runTool('pg_ctl', ['-D', data, '-w', '-s', '-l', join(data, 'log.txt'), ...args]);
  const stop = async (mode: string) => void (await control('stop', '-m', mode));
  atEnd(() => stop('immediate').catch(() => undefined));
  return {
    data,
    url: (database = 'postgres') => `postgres://postgres@127.0.0.1:${port}/${database}`,
    start: async () => void (await control('start', '-o', options)),
    stop,
    promote: async () => void (await control('promote')),
  };
}
