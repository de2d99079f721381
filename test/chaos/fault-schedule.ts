import { seededRandom } from '../support/seeded-random.ts';
import type { ChaosOptions, Focus } from './chaos-options.ts';

/** Requirement of a kind of fault on the machine or the run. */
export type Need = 'faketime' | 'tmpfs' | 'pg_dump';

type KindPlan = {
  focus: Focus;
  /** Another focus that brings it, too. */
  alsoIn?: Focus;
  /** Mean pause between two of them in a run without focus, in seconds. */
  everyS: number;
  /** The same in a run with its focus. */
  focusedEveryS: number;
  /** Shortest and longest duration of a fault, in ms. */
  lengthMs: readonly [number, number];
  needs?: Need;
};

/** Every kind of fault that is made at a planned moment. Bad single answers are drawn per request instead. */
export const faultKinds = {
  'kill a daemon': { focus: 'kills', everyS: 20, focusedEveryS: 0.9, lengthMs: [0, 300] },
  'kill a one-off command': { focus: 'kills', everyS: 25, focusedEveryS: 3, lengthMs: [0, 0] },
  'stop a process for seconds': {
    focus: 'kills',
    everyS: 60,
    focusedEveryS: 60,
    lengthMs: [2_000, 8_000],
  },
  'stop a process beyond its locks': {
    focus: 'kills',
    everyS: 300,
    focusedEveryS: 300,
    lengthMs: [65_000, 75_000],
  },
  'tell a daemon to stop': { focus: 'kills', everyS: 50, focusedEveryS: 40, lengthMs: [0, 500] },
  'end all database connections': {
    focus: 'database',
    everyS: 40,
    focusedEveryS: 5,
    lengthMs: [0, 0],
  },
  'end some database connections': {
    focus: 'database',
    everyS: 30,
    focusedEveryS: 10,
    lengthMs: [0, 0],
  },
  'crash the database': {
    focus: 'database',
    everyS: 75,
    focusedEveryS: 50,
    lengthMs: [500, 4_000],
  },
  'kill the database': {
    focus: 'database',
    everyS: 120,
    focusedEveryS: 80,
    lengthMs: [500, 3_000],
  },
  'database goes silent': {
    focus: 'database',
    everyS: 90,
    focusedEveryS: 60,
    lengthMs: [3_000, 12_000],
  },
  'database connections reset': {
    focus: 'database',
    everyS: 60,
    focusedEveryS: 20,
    lengthMs: [0, 2_000],
  },
  'database half closed': {
    focus: 'database',
    everyS: 120,
    focusedEveryS: 60,
    lengthMs: [1_000, 3_000],
  },
  'database slow': { focus: 'database', everyS: 90, focusedEveryS: 60, lengthMs: [3_000, 8_000] },
  'flush Redis': { focus: 'redis', everyS: 45, focusedEveryS: 10, lengthMs: [0, 0] },
  'kill Redis': { focus: 'redis', everyS: 60, focusedEveryS: 45, lengthMs: [200, 4_000] },
  'Redis goes silent': { focus: 'redis', everyS: 90, focusedEveryS: 60, lengthMs: [3_000, 12_000] },
  'Redis connections reset': {
    focus: 'redis',
    everyS: 60,
    focusedEveryS: 20,
    lengthMs: [0, 2_000],
  },
  'burst of bad answers': {
    focus: 'answers',
    everyS: 40,
    focusedEveryS: 60,
    lengthMs: [2_000, 10_000],
  },
  'service away': { focus: 'answers', everyS: 60, focusedEveryS: 120, lengthMs: [1_000, 8_000] },
  'service lies': {
    focus: 'answers',
    alsoIn: 'lies',
    everyS: 45,
    focusedEveryS: 60,
    lengthMs: [3_000, 10_000],
  },
  'service lies about its lists': {
    focus: 'lies',
    everyS: 0,
    focusedEveryS: 12,
    lengthMs: [3_000, 10_000],
  },
  'orders vanish for seconds': {
    focus: 'lies',
    everyS: 0,
    focusedEveryS: 30,
    lengthMs: [3_000, 20_000],
  },
  'lost address answers': {
    focus: 'posts',
    everyS: 40,
    focusedEveryS: 60,
    lengthMs: [5_000, 15_000],
  },
  'operator makes addresses': {
    focus: 'posts',
    alsoIn: 'moves',
    everyS: 15,
    focusedEveryS: 10,
    lengthMs: [0, 0],
  },
  'restore a copy of the database': {
    focus: 'moves',
    everyS: 0,
    focusedEveryS: 30,
    lengthMs: [200, 2_000],
  },
  'restore a dump elsewhere': {
    focus: 'moves',
    everyS: 0,
    focusedEveryS: 30,
    lengthMs: [200, 2_000],
    needs: 'pg_dump',
  },
  'restore a dump in place': {
    focus: 'moves',
    everyS: 0,
    focusedEveryS: 30,
    lengthMs: [200, 2_000],
    needs: 'pg_dump',
  },
  'restore the data alone': {
    focus: 'moves',
    everyS: 0,
    focusedEveryS: 30,
    lengthMs: [200, 2_000],
    needs: 'pg_dump',
  },
  'promote a lagging standby': {
    focus: 'moves',
    everyS: 0,
    focusedEveryS: 30,
    lengthMs: [200, 2_000],
  },
  'clock steps': {
    focus: 'clock',
    everyS: 60,
    focusedEveryS: 20,
    lengthMs: [3_000, 15_000],
    needs: 'faketime',
  },
  'disk full': {
    focus: 'disk',
    everyS: 120,
    focusedEveryS: 45,
    lengthMs: [3_000, 12_000],
    needs: 'tmpfs',
  },
} as const satisfies Record<string, KindPlan>;

export type FaultKind = keyof typeof faultKinds;

export type PlannedFault = {
  kind: FaultKind;
  /** From the start of the faults. */
  atMs: number;
  lengthMs: number;
  /** 0..1: which one, how much; the fault's own dice. */
  dice: readonly [number, number];
};

export type Plan = {
  faults: PlannedFault[];
  /** Kinds that cannot be made here, and what they lack. */
  skipped: { kind: FaultKind; needs: Need }[];
};

type PlanOptions = Pick<ChaosOptions, 'seed' | 'minutes' | 'focus' | 'queue'>;

/** At the beginning the ledger fills up; at the end nothing new is begun. */
const quietMs = 4_000;

/** The run's faults in the order of time: a pure function of seed, length, focus and what the machine offers. */
export function planFaults(options: PlanOptions, offers: ReadonlySet<Need>): Plan {
  const entries = Object.entries(faultKinds) as [FaultKind, KindPlan][];
  const wanted = entries.filter(([, plan]) => isWanted(plan, options));
  const lacking = wanted.flatMap(([kind, { needs }]) =>
    needs !== undefined && !offers.has(needs) ? [{ kind, needs }] : [],
  );
  const missing = new Set<string>(lacking.map(({ kind }) => kind));
  const faults = wanted
    .filter(([kind]) => !missing.has(kind))
    .flatMap(([kind, plan], index) => planKind(kind, plan, options, index));
  return { faults: faults.sort((a, b) => a.atMs - b.atMs), skipped: lacking };
}

/**
 * A full disk takes the data directory onto a disk of its own, a database that goes back forgets what it knew, and lies
 * about a list take their time to be found: only where they are asked for.
 */
const onlyFocused = new Set<Focus>(['disk', 'moves', 'lies']);

function isWanted({ focus: own, alsoIn }: KindPlan, { focus, queue }: PlanOptions): boolean {
  if (own === 'redis' && queue !== 'redis') return false;
  return focus === null ? !onlyFocused.has(own) : own === focus || alsoIn === focus;
}

function planKind(
  kind: FaultKind,
  plan: KindPlan,
  { seed, minutes, focus }: PlanOptions,
  index: number,
): PlannedFault[] {
  const random = seededRandom(seed * 31 + index * 7_919 + 1).next;
  const [shortest, longest] = plan.lengthMs;
  const spanMs = Math.max(1_000, minutes * 60_000 - 2 * quietMs);
  const everyMs = (focus === null ? plan.everyS : plan.focusedEveryS) * 1_000;
  // A fault that lasts longer than a third of the run leaves no time to recover.
  if (shortest * 3 > spanMs) return [];
  const count = Math.max(1, Math.floor(spanMs / everyMs));
  return Array.from({ length: count }, (_, place) => ({
    kind,
    atMs: Math.round(quietMs + ((place + random()) / count) * (spanMs - shortest)),
    lengthMs: Math.round(shortest + random() * (longest - shortest)),
    dice: [random(), random()] as const,
  }));
}
