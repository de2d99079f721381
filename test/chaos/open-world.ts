import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { redisProgram } from '../support/redis-program.ts';
import { type ChaosOptions, UsageError } from './chaos-options.ts';
import { type DatabaseCluster, startDatabaseCluster } from './database-cluster.ts';
import { createFakeClock, fakeTimeLibrary } from './fake-clock.ts';
import type { World } from './fault-actions.ts';
import type { Need } from './fault-schedule.ts';
import { startFleet } from './fleet.ts';
import { startHttpFaultProxy } from './http-fault-proxy.ts';
import { startOracle } from './oracle/start-oracle.ts';
import { startProbes } from './probes.ts';
import { startRedisServer } from './redis-server.ts';
import type { RunSettings } from './run-settings.ts';
import { mountSmallDisk } from './small-disk.ts';
import { startTcpFaultProxy } from './tcp-fault-proxy.ts';

export type OpenWorld = World & {
  /** Fault requirements that this machine and this run meet. */
  offers: ReadonlySet<Need>;
  /** Like the connections of a real consumer: the faults affect them. */
  consumers: pg.Pool;
  /** Stops and removes everything except the logs. */
  close(): Promise<void>;
};

/** Ends every child at once; for the exit of the runner. */
export type KillSwitch = { add(kill: () => void): void };

const smallDiskMegabytes = 400;

/** Servers, proxies, the service, and the processes of the program, which start to work at once. */
export async function openWorld(
  options: ChaosOptions,
  settings: RunSettings,
  killSwitch: KillSwitch,
): Promise<OpenWorld> {
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (let closer = closers.pop(); closer; closer = closers.pop()) {
      await Promise.resolve()
        .then(closer)
        .catch((error) => process.stderr.write(`closing: ${error}\n`));
    }
  };
  try {
    return await open();
  } catch (error) {
    await close();
    throw error;
  }

  async function open(): Promise<OpenWorld> {
    mkdirSync(options.out, { recursive: true });
    // The database's account must be able to enter.
    chmodSync(options.out, 0o711);
    const disk = options.focus === 'disk' ? openDisk() : null;
    const cluster = await openCluster(join(disk?.folder ?? options.out, 'database'), disk !== null);
    const databaseProxy = await startTcpFaultProxy(cluster.port);
    closers.push(() => databaseProxy.close());
    const redis = options.queue === 'redis' ? await openRedis() : null;
    const oracle = await startOracle({
      seed: options.seed,
      history: settings.history,
      slip44s: settings.slip44s,
      pageSizeMax: settings.pageSizeMax,
      addressListLagMs: settings.addressListLagMs,
      oddRows: settings.oddRows,
      allPlain: settings.allPlain,
      newestFirst: settings.newestFirst,
      verifyShare: settings.verifyShare,
    });
    closers.push(() => oracle.close());
    const http = await startHttpFaultProxy({
      targetPort: oracle.port,
      seed: options.seed,
      onLost: (serial) => oracle.noteLostAnswer(serial),
    });
    closers.push(() => http.close());
    Object.assign(http.rates, settings.rates);
    const direct = await startTcpFaultProxy(cluster.port);
    closers.push(() => direct.close());
    const database = openPool(cluster.ownerUrl(undefined, direct.port), 'chaos', 4);
    const consumers = openPool(cluster.urlAt(databaseProxy.port), 'consumer', 4);
    const probes = startProbes(database);
    closers.push(() => probes.stop());
    const library = options.focus === null || options.focus === 'clock' ? fakeTimeLibrary() : null;
    const clock = library ? createFakeClock(library, options.out) : null;
    const fleet = startFleet({
      program: options.program,
      folder: options.out,
      daemons: options.daemons,
      backfillArgs: settings.backfillArgs,
      oneOffPauseMs: settings.oneOffPauseMs,
      env: {
        ...settings.env,
        WALLET_BASE_URL: `http://127.0.0.1:${http.port}`,
        WALLET_API_SECRET: oracle.privateKey,
        DATABASE_URL: cluster.urlAt(databaseProxy.port),
        ...(redis && { REDIS_URL: `redis://127.0.0.1:${redis.proxy.port}` }),
      },
      envOf: (name) => (clock && name === `daemon-${options.daemons}` ? clock.env : {}),
    });
    killSwitch.add(() => fleet.killNow());
    closers.push(() => fleet.close());
    const offers = new Set<Need>();
    if (clock) offers.add('faketime');
    if (disk) offers.add('tmpfs');
    if (existsSync(join(cluster.dumpTools, 'pg_dump'))) offers.add('pg_dump');
    return {
      databaseProxies: [databaseProxy, direct],
      slip44s: settings.slip44s,
      ...{ fleet, cluster, database, databaseProxy, redis, http, oracle, clock, disk, probes },
      ...{ offers, consumers, close },
    };
  }

  function openDisk() {
    const disk = mountSmallDisk(join(options.out, 'disk'), smallDiskMegabytes);
    if (!disk) return null;
    closers.push(() => disk.unmount());
    return disk;
  }
  async function openCluster(home: string, isSmall: boolean): Promise<DatabaseCluster> {
    const cluster = await startDatabaseCluster(home, {
      configuration: isSmall ? ['max_wal_size=96MB'] : [],
      programs: options.programs,
      dumpTools: options.dumpTools,
    });
    killSwitch.add(() => cluster.kill());
    closers.push(() => cluster.stop());
    return cluster;
  }
  async function openRedis() {
    const program = redisProgram();
    if (!program)
      throw new UsageError('--queue redis: there is no redis-server program on the path');
    const server = await startRedisServer(program, options.out);
    killSwitch.add(() => server.killNow());
    closers.push(() => server.close());
    const proxy = await startTcpFaultProxy(server.port);
    closers.push(() => proxy.close());
    return { server, proxy };
  }
  function openPool(connectionString: string, name: string, max: number): pg.Pool {
    const pool = new pg.Pool({
      connectionString,
      max,
      application_name: name,
      // Beside a busy neighbour the judge waits: a run without a verdict says nothing.
      connectionTimeoutMillis: 30_000,
      query_timeout: 120_000,
    });
    pool.on('error', () => undefined);
    closers.push(() => pool.end());
    return pool;
  }
}
