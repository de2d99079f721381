import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { prepareServerPrograms, stopChild, untilAnswers } from '../support/embedded-server.ts';
import { freePort } from '../support/free-port.ts';
import { onDatabase, queryOnce } from '../support/on-database.ts';

/** A PostgreSQL for the run, with its usual durability: committed data are kept. */
export type DatabaseCluster = {
  readonly port: number;
  /** The program's database; its owner is no superuser. */
  readonly databaseName: string;
  password: string;
  /** Folder of `pg_dump` and `pg_restore`, where there are any. */
  dumpTools: string;
  /** They are not the server's own, and may be older. */
  areToolsForeign: boolean;
  /** Folder for files that outlive no run. */
  folder: string;
  /** The program's address, for clients that reach the server at another port. */
  urlAt(port: number): string;
  /** The superuser's address of a database, the program's own unless another is named. */
  ownerUrl(database?: string, port?: number): string;
  /** Stops it without a checkpoint: SIGQUIT is the signal of `pg_ctl stop -m immediate`. */
  crash(signal: 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  /** Starts it with the same data, and waits until it is ready. Does nothing if it is running. */
  start(): Promise<void>;
  /** A copy of the current server that does not follow it further. `promote` puts it into use. */
  openStandby(): Promise<{ promote(): Promise<void> }>;
  stop(): Promise<void>;
  /** For the last moment: stops it at once, without waiting. */
  kill(): void;
};

type Server = { data: string; port: number; child: ChildProcess | null };

const run = promisify(execFile);
const databaseName = 'wallet_ledger';
const startMaxMs = 60_000;
const settings = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'shared_buffers=128MB',
  'max_connections=100',
  'timezone=UTC',
];

/**
 * Creates a data directory in `home` and starts a server on it. `programs`: folder of another PostgreSQL than the
 * embedded one.
 */
export async function startDatabaseCluster(
  home: string,
  {
    configuration = [],
    programs,
    dumpTools,
  }: { configuration?: string[]; programs?: string | null; dumpTools?: string | null },
): Promise<DatabaseCluster> {
  await mkdir(home, { recursive: true });
  const { bin, account } = await prepareServerPrograms(home, programs ?? null);
  if (account) await chown(home, account.uid, account.gid);
  const options = { cwd: home, env: { LC_ALL: 'C', TZ: 'UTC' }, ...account };
  const password = randomBytes(12).toString('hex');
  const passwordFile = join(home, 'password');
  await writeFile(passwordFile, password);
  if (account) await chown(passwordFile, account.uid, account.gid);
  let current: Server = { data: join(home, 'data'), port: await freePort(), child: null };
  const initArgs = ['-D', current.data, '-U', 'postgres', '-A', 'scram-sha-256', '-E', 'UTF8'];
  await run(
    join(bin, 'initdb'),
    [...initArgs, '--locale=C', '--pwfile', passwordFile, '--no-sync'],
    options,
  );

  const ownerUrl = (database = databaseName, port = current.port) =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;

  function launch(server: Server): ChildProcess {
    const log = openSync(join(home, 'postgres.txt'), 'a');
    const given = [...settings, ...configuration].flatMap((setting) => ['-c', setting]);
    const child = spawn(
      join(bin, 'postgres'),
      ['-D', server.data, '-p', String(server.port), ...given],
      { ...options, stdio: ['ignore', log, log] },
    );
    closeSync(log);
    server.child = child;
    return child;
  }
  const isRunning = ({ child }: Server) =>
    child !== null && child.exitCode === null && child.signalCode === null;

  async function start(server: Server): Promise<void> {
    const giveUpAt = performance.now() + startMaxMs;
    for (;;) {
      const child = isRunning(server) && server.child ? server.child : launch(server);
      try {
        return await untilAnswers(ownerUrl('postgres', server.port), child);
      } catch (error) {
        // A killed server's children hold its memory for a moment.
        if (performance.now() > giveUpAt) throw error;
        await delay(100);
      }
    }
  }
  async function end({ child }: Server, signal: NodeJS.Signals): Promise<void> {
    if (child) await stopChild(child, signal);
  }
  const query = (text: string, port = current.port) => queryOnce(ownerUrl('postgres', port), text);

  async function openStandby() {
    const standby: Server = {
      data: join(home, `standby-${randomBytes(3).toString('hex')}`),
      port: await freePort(),
      child: null,
    };
    await onDatabase(ownerUrl('postgres'), async (client) => {
      await client.query(`select pg_backup_start('copy', true)`);
      await copyFiles(current.data, standby.data);
      const { rows } = await client.query('select labelfile from pg_backup_stop(false)');
      await copyFiles(`${current.data}/pg_wal/.`, join(standby.data, 'pg_wal'));
      await writeFile(join(standby.data, 'backup_label'), rows[0]?.labelfile);
      await writeFile(join(standby.data, 'standby.signal'), '');
    });
    await rm(join(standby.data, 'postmaster.pid'), { force: true });
    if (account) await run('chown', ['-R', `${account.uid}:${account.gid}`, standby.data]);
    await start(standby);
    return {
      async promote() {
        const left = current.data;
        await query('select pg_promote(true, 60)', standby.port);
        current = standby;
        await rename(left, `${left}.left`);
        await rm(`${left}.left`, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  }

  await start(current);
  await query(`create role wallet_ledger login password '${password}'`);
  await query(`create database ${databaseName} owner wallet_ledger`);
  return {
    get port() {
      return current.port;
    },
    databaseName,
    password,
    dumpTools: dumpTools ?? bin,
    areToolsForeign: typeof dumpTools === 'string',
    folder: home,
    urlAt: (at) => `postgres://wallet_ledger:${password}@127.0.0.1:${at}/${databaseName}`,
    ownerUrl,
    crash: (signal) => end(current, signal),
    start: () => start(current),
    openStandby,
    async stop() {
      await end(current, 'SIGINT');
      await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
    kill() {
      current.child?.kill('SIGQUIT');
    },
  };
}

/** Files that vanish while a running server is copied are not needed by the copy. */
async function copyFiles(from: string, to: string): Promise<void> {
  const child = spawn('cp', ['-a', from, to], { stdio: 'ignore' });
  await once(child, 'close');
}
