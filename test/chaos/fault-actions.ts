import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { DatabaseCluster } from './database-cluster.ts';
import type { FakeClock } from './fake-clock.ts';
import type { FaultKind, PlannedFault } from './fault-schedule.ts';
import type { Fleet, Member } from './fleet.ts';
import type { HttpFaultProxy } from './http-fault-proxy.ts';
import {
  promoteStandby,
  restoreCopy,
  restoreDataAlone,
  restoreDumpElsewhere,
  restoreDumpInPlace,
} from './move-database.ts';
import type { Lies, Oracle } from './oracle/oracle-types.ts';
import type { Probes } from './probes.ts';
import type { RedisServer } from './redis-server.ts';
import type { SmallDisk } from './small-disk.ts';
import type { TcpFaultProxy } from './tcp-fault-proxy.ts';

/** Everything that a fault may change. */
export type World = {
  fleet: Fleet;
  cluster: DatabaseCluster;
  /** Connections of the runner itself, not through the proxy. */
  database: pg.Pool;
  databaseProxy: TcpFaultProxy;
  /** All proxies before the database, that of the runner included. */
  databaseProxies: readonly TcpFaultProxy[];
  /** Chains whose pools are filled. */
  slip44s: readonly number[];
  redis: { server: RedisServer; proxy: TcpFaultProxy } | null;
  http: HttpFaultProxy;
  oracle: Oracle;
  clock: FakeClock | null;
  disk: SmallDisk | null;
  probes: Probes;
};

type FaultAction = {
  /** Faults of one lane run one after another. */
  lane(fault: PlannedFault, world: World): string;
  /** Resolves when the fault is over. */
  act(world: World, fault: PlannedFault): Promise<void>;
};

const schedulesMaxMs = 90_000;
const startMaxMs = 20_000;
const refillMaxMs = 90_000;
const slowByMs = 300;
const clockStepsS = [3_600, -3_600, 90, -90, 86_400, -20];

/** Returns the daemon that the fault's dice select. */
function daemonOf({ fleet }: World, { dice }: PlannedFault): Member {
  return fleet.daemons[Math.floor(dice[0] * fleet.daemons.length)] ?? fleet.backfill;
}

function oneOffOf({ fleet }: World, { dice }: PlannedFault): Member {
  return dice[0] < 0.7 ? fleet.backfill : fleet.refill;
}

function anyMember({ fleet }: World, { dice }: PlannedFault): Member {
  const members = fleet.members();
  return members[Math.floor(dice[0] * members.length)] ?? fleet.backfill;
}

async function endAndRevive(member: Member, signal: 'SIGKILL' | 'SIGTERM', pauseMs: number) {
  await member.end(signal);
  await delay(pauseMs);
  member.revive();
}

const onDaemon = (fault: PlannedFault, world: World) => daemonOf(world, fault).name;
const onAny = (fault: PlannedFault, world: World) => anyMember(world, fault).name;
const on = (lane: string) => () => lane;

/** Enables one of the lies for some time. */
function lying(names: readonly (keyof Lies)[]): FaultAction {
  return {
    lane: on('lies'),
    act: async ({ oracle }, { lengthMs, dice }) => {
      const name = names[Math.floor(dice[0] * names.length)] ?? 'clampPage';
      oracle.lies[name] = 0.1 + 0.4 * dice[1];
      await delay(lengthMs);
      oracle.lies[name] = 0;
    },
  };
}

/** Starts from full pools; afterwards they are full again, with addresses that nobody can have received before. */
function moving(move: (world: World, afterMs: number) => Promise<void>): FaultAction {
  return {
    lane: on('database'),
    act: async (world, { lengthMs }) => {
      await untilPoolsFilled(world);
      await move(world, lengthMs);
      const from = performance.now();
      await untilPoolsFilled(world);
      world.probes.record('pools after a move', performance.now() - from);
    },
  };
}

async function untilPoolsFilled(world: World): Promise<void> {
  const giveUpAt = performance.now() + refillMaxMs;
  while (!(await arePoolsFilled(world).catch(() => false))) {
    if (performance.now() > giveUpAt) throw new Error('a pool stayed below its threshold');
    await delay(100);
  }
}

/** Healed, and at the threshold on every chain. */
async function arePoolsFilled({ database, slip44s }: World): Promise<boolean> {
  const { rows } = await database.query<{ filled: number }>(
    `select count(*)::int as filled from ledger.pool_levels
      where available >= threshold and slip44 = any($1) and engine.home_state() is null`,
    [slip44s],
  );
  return rows[0]?.filled === slip44s.length;
}

/** Action that makes each planned fault. */
export const faultActions: Record<FaultKind, FaultAction> = {
  'kill a daemon': {
    lane: onDaemon,
    act: (world, fault) => endAndRevive(daemonOf(world, fault), 'SIGKILL', fault.lengthMs),
  },
  'kill a one-off command': {
    lane: (fault, world) => oneOffOf(world, fault).name,
    act: (world, fault) => endAndRevive(oneOffOf(world, fault), 'SIGKILL', 0),
  },
  'stop a process for seconds': {
    lane: onAny,
    act: (world, fault) => anyMember(world, fault).freeze(fault.lengthMs),
  },
  'stop a process beyond its locks': {
    lane: onDaemon,
    act: (world, fault) => daemonOf(world, fault).freeze(fault.lengthMs),
  },
  'tell a daemon to stop': {
    lane: onDaemon,
    act: async (world, fault) => {
      const daemon = daemonOf(world, fault);
      // Only a started process can be asked to stop; one that cannot start is signalled all the same.
      const giveUpAt = performance.now() + startMaxMs;
      while (!daemon.isStarted() && performance.now() < giveUpAt) await delay(50);
      await endAndRevive(daemon, 'SIGTERM', fault.lengthMs);
    },
  },
  'end all database connections': {
    lane: on('database'),
    act: ({ database }) => endConnections(database, 1),
  },
  'end some database connections': {
    lane: on('database'),
    act: ({ database }, { dice }) => endConnections(database, 0.1 + 0.6 * dice[0]),
  },
  'crash the database': {
    lane: on('database'),
    act: ({ cluster }, { lengthMs }) => restart(cluster, 'SIGQUIT', lengthMs),
  },
  'kill the database': {
    lane: on('database'),
    act: ({ cluster }, { lengthMs }) => restart(cluster, 'SIGKILL', lengthMs),
  },
  'database goes silent': {
    lane: on('database'),
    act: ({ databaseProxy }, { lengthMs }) => databaseProxy.goSilent(lengthMs),
  },
  'database connections reset': {
    lane: on('database'),
    act: ({ databaseProxy }, { lengthMs }) => databaseProxy.reset(lengthMs),
  },
  'database half closed': {
    lane: on('database'),
    act: ({ databaseProxy }, { lengthMs }) => databaseProxy.halfClose(lengthMs),
  },
  'database slow': {
    lane: on('database'),
    act: ({ databaseProxy }, { lengthMs, dice }) =>
      databaseProxy.slowDown(dice[0] * slowByMs, lengthMs),
  },
  'flush Redis': {
    lane: on('redis'),
    act: async ({ redis, probes }) => {
      if (!redis) return;
      const before = await redis.server.schedules();
      await redis.server.flush();
      await noteSchedules(redis.server, before, probes, 'schedules after a flush');
    },
  },
  'kill Redis': {
    lane: on('redis'),
    act: async ({ redis, probes }, { lengthMs }) => {
      if (!redis) return;
      const before = await redis.server.schedules();
      await redis.server.kill();
      await delay(lengthMs);
      await redis.server.start();
      await noteSchedules(redis.server, before, probes, 'schedules after a kill');
    },
  },
  'Redis goes silent': {
    lane: on('redis'),
    act: async ({ redis }, { lengthMs }) => redis?.proxy.goSilent(lengthMs),
  },
  'Redis connections reset': {
    lane: on('redis'),
    act: async ({ redis }, { lengthMs }) => redis?.proxy.reset(lengthMs),
  },
  'burst of bad answers': {
    lane: on('answers'),
    act: async ({ http }, { lengthMs, dice }) => {
      const usual = http.rates.bad;
      http.rates.bad = 0.3 + 0.6 * dice[0];
      await delay(lengthMs);
      http.rates.bad = usual;
    },
  },
  'service away': {
    lane: on('away'),
    act: async ({ http }, { lengthMs }) => {
      http.rates.isAway = true;
      await delay(lengthMs);
      http.rates.isAway = false;
    },
  },
  'service lies': lying([
    'clampPage',
    'wrongTotal',
    'stalePage',
    'wrongDetail',
    'duplicateInPage',
    'boundaryPage',
  ]),
  'service lies about its lists': lying([
    'oldReplica',
    'laggingTotal',
    'aheadTotal',
    'cappedTotal',
    'shortPage',
    'spoiltPage',
    'otherListsRow',
  ]),
  'orders vanish for seconds': {
    // Not together with a lie about the total: together no reader could detect them.
    lane: on('lies'),
    act: async ({ oracle }, { lengthMs, dice }) => {
      const putBack = oracle.hide(1 + Math.floor(dice[0] * 3));
      await delay(lengthMs);
      putBack();
    },
  },
  'lost address answers': {
    lane: on('posts'),
    act: async ({ http }, { lengthMs, dice }) => {
      const usual = http.rates.lostPost;
      http.rates.lostPost = 0.3 + 0.7 * dice[0];
      await delay(lengthMs);
      http.rates.lostPost = usual;
    },
  },
  'operator makes addresses': {
    lane: on('operator'),
    act: async ({ oracle, slip44s }, { dice }) => {
      const slip44 = slip44s[Math.floor(dice[0] * slip44s.length)] ?? 0;
      // More than the program ever requests here: otherwise they could not be distinguished from its own.
      oracle.operate(slip44, 41 + Math.floor(dice[1] * 5));
    },
  },
  'restore a copy of the database': moving(restoreCopy),
  'restore a dump elsewhere': moving(restoreDumpElsewhere),
  'restore a dump in place': moving(restoreDumpInPlace),
  'restore the data alone': moving(restoreDataAlone),
  'promote a lagging standby': moving(promoteStandby),
  'clock steps': {
    lane: on('clock'),
    act: async ({ clock }, { lengthMs, dice }) => {
      clock?.step(clockStepsS[Math.floor(dice[0] * clockStepsS.length)] ?? 60);
      await delay(lengthMs);
      clock?.step(0);
    },
  },
  'disk full': {
    lane: on('database'),
    act: async ({ disk, cluster }, { lengthMs }) => {
      // Another process may take the last blocks meanwhile: then it is just as full.
      await disk?.fill().catch(() => disk.fill());
      await delay(lengthMs);
      disk?.clear();
      // A server that exited is restarted by its supervisor.
      await cluster.start();
    },
  },
};

async function restart(cluster: DatabaseCluster, signal: 'SIGQUIT' | 'SIGKILL', pauseMs: number) {
  await cluster.crash(signal);
  await delay(pauseMs);
  await cluster.start();
}

/** All sessions but our own. */
async function endConnections(database: pg.Pool, share: number): Promise<void> {
  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where backend_type = 'client backend' and application_name <> 'chaos' and random() < $1`,
    [share],
  );
}

async function noteSchedules(server: RedisServer, before: number, probes: Probes, kind: string) {
  const from = performance.now();
  while (performance.now() - from < schedulesMaxMs) {
    if ((await server.schedules().catch(() => 0)) >= before) break;
    await delay(100);
  }
  probes.record(kind, performance.now() - from);
}
