import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type pg from 'pg';
import { onDatabase } from '../support/on-database.ts';
import type { DatabaseCluster } from './database-cluster.ts';
import { startOlderFace } from './older-face.ts';
import type { TcpFaultProxy } from './tcp-fault-proxy.ts';

/** Parts that a move of the database needs: the server, and the proxies before it. */
type Moving = { cluster: DatabaseCluster; databaseProxies: readonly TcpFaultProxy[] };

const run = promisify(execFile);
const kept = 'kept';
const restored = 'restored';

/** A copy made by the server itself is restored `afterMs` later: the OIDs of the tables stay. */
export async function restoreCopy({ cluster }: Moving, afterMs: number): Promise<void> {
  await onServer(cluster, async (server) => {
    await withoutClients(server, cluster.databaseName, () =>
      server.query(`create database ${kept} template ${cluster.databaseName}`),
    );
    await delay(afterMs);
    await replaceBy(server, cluster.databaseName, kept);
  });
}

/** A dump is restored into a new database, which then replaces the old one. */
export async function restoreDumpElsewhere(moving: Moving, afterMs: number): Promise<void> {
  const { cluster } = moving;
  const dump = await dumpDatabase(cluster);
  await delay(afterMs);
  await onServer(cluster, async (server) => {
    await server.query(`create database ${restored}`);
    await tool(cluster, 'pg_restore', ['--dbname', cluster.ownerUrl(restored), dump]);
    await replaceBy(server, cluster.databaseName, restored);
  });
}

/** A dump is restored over the current database, with every object created again. */
export async function restoreDumpInPlace({ cluster }: Moving, afterMs: number): Promise<void> {
  const dump = await dumpDatabase(cluster);
  await delay(afterMs);
  const target = ['--clean', '--if-exists', '--single-transaction', '--dbname', cluster.ownerUrl()];
  await onServer(cluster, (server) =>
    withoutProgram(server, () => repeatedly(() => tool(cluster, 'pg_restore', [...target, dump]))),
  );
}

/** Only the rows are restored, into the existing tables. */
export async function restoreDataAlone({ cluster }: Moving, afterMs: number): Promise<void> {
  const dump = await dumpDatabase(cluster);
  await delay(afterMs);
  // In one transaction, because the oracle would take a list without its rows for a claim of the program.
  const how = ['--data-only', '--disable-triggers', '--single-transaction'];
  const target = [...how, '--dbname', cluster.ownerUrl()];
  await onServer(cluster, (server) =>
    withoutProgram(server, async () => {
      await emptyTables(cluster);
      await tool(cluster, 'pg_restore', [...target, dump]);
    }),
  );
}

/** A standby that stopped following some time ago becomes the primary; the primary dies. */
export async function promoteStandby(
  { cluster, databaseProxies }: Moving,
  afterMs: number,
): Promise<void> {
  const standby = await cluster.openStandby();
  await delay(afterMs);
  await cluster.crash('SIGKILL');
  await standby.promote();
  for (const proxy of databaseProxies) proxy.turnTo(cluster.port);
}

async function dumpDatabase(cluster: DatabaseCluster): Promise<string> {
  const file = join(cluster.folder, 'dump');
  const face = cluster.areToolsForeign ? await startOlderFace(cluster.port) : null;
  try {
    const source = cluster.ownerUrl(undefined, face?.port);
    await repeatedly(() => tool(cluster, 'pg_dump', ['--format=custom', '--file', file, source]));
  } finally {
    await face?.close();
  }
  return file;
}

async function tool(cluster: DatabaseCluster, name: string, args: string[]): Promise<void> {
  await run(join(cluster.dumpTools, name), args, { maxBuffer: 1e7 });
}

/** Locks of the running daemons and of the runner can cause a deadlock, which is retried. */
async function repeatedly(attempt: () => Promise<void>): Promise<void> {
  for (let left = 5; ; left -= 1) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

async function emptyTables(cluster: DatabaseCluster): Promise<void> {
  await onDatabase(cluster.ownerUrl(), async (client) => {
    const { rows } = await client.query<{ tables: string }>(`
      select string_agg(format('%I.%I', schemaname, tablename), ', ') as tables from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`);
    await client.query(`truncate ${rows[0]?.tables} cascade`);
  });
}

function onServer(cluster: DatabaseCluster, act: (server: pg.Client) => Promise<void>) {
  return onDatabase(cluster.ownerUrl('postgres'), act);
}

/** The program and its users cannot connect meanwhile, but the runner can. */
async function withoutProgram(server: pg.Client, act: () => Promise<unknown>): Promise<void> {
  await server.query('alter role wallet_ledger nologin');
  await server.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'wallet_ledger'`,
  );
  try {
    await act();
  } finally {
    await server.query('alter role wallet_ledger login');
  }
}

async function withoutClients(
  server: pg.Client,
  database: string,
  act: () => Promise<unknown>,
): Promise<void> {
  await server.query(`alter database ${database} allow_connections false`);
  await server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
    database,
  ]);
  try {
    await act();
  } finally {
    await server.query(`alter database ${database} allow_connections true`);
  }
}

async function replaceBy(server: pg.Client, database: string, by: string): Promise<void> {
  await server.query(`alter database ${database} allow_connections false`);
  await server.query(`drop database ${database} with (force)`);
  await server.query(`alter database ${by} rename to ${database}`);
}
