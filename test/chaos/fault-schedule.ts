import { seededRandom } from '../support/seeded-random.ts';
import type { ChaosOptions, Focus } from './chaos-options.ts';

/** Requirement of a kind of fault for the machine or the run. */
export type Need = 'faketime' | 'tmpfs' | 'pg_dump';

type KindPlan = {
  focus: Focus;
  /** Another focus that includes this kind. */
  alsoIn?: Focus;
  /** Mean time between two of them in a run without a focus, in seconds. */
  everyS: number;
  /** The same for a run with their focus. */
  focusedEveryS: number;
  /** Shortest and longest duration of a fault, in ms. */
  lengthMs: readonly [number, number];
  needs?: Need;
};

function fault(
  focus: Focus,
  everyS: number,
  focusedEveryS: number,
  lengthMs: KindPlan['lengthMs'],
  more: Pick<KindPlan, 'alsoIn' | 'needs'> = {},
): KindPlan {
  return { focus, everyS, focusedEveryS, lengthMs, ...more };
}

/** Every kind of fault that occurs at a planned time. Single bad answers are drawn per request instead. */
export const faultKinds = {
  'kill a daemon': fault('kills', 20, 0.9, [0, 300]),
  'kill a one-off command': fault('kills', 25, 3, [0, 0]),
  'stop a process for seconds': fault('kills', 60, 60, [2_000, 8_000]),
  'stop a process beyond its locks': fault('kills', 300, 300, [65_000, 75_000]),
  'tell a daemon to stop': fault('kills', 50, 40, [0, 500]),
  'end all database connections': fault('database', 40, 5, [0, 0]),
  'end some database connections': fault('database', 30, 10, [0, 0]),
  'crash the database': fault('database', 75, 50, [500, 4_000]),
  'kill the database': fault('database', 120, 80, [500, 3_000]),
  'database goes silent': fault('database', 90, 60, [3_000, 12_000]),
  'database connections reset': fault('database', 60, 20, [0, 2_000]),
  'database half closed': fault('database', 120, 60, [1_000, 3_000]),
  'database slow': fault('database', 90, 60, [3_000, 8_000]),
  'flush Redis': fault('redis', 45, 10, [0, 0]),
  'kill Redis': fault('redis', 60, 45, [200, 4_000]),
  'Redis goes silent': fault('redis', 90, 60, [3_000, 12_000]),
  'Redis connections reset': fault('redis', 60, 20, [0, 2_000]),
  'burst of bad answers': fault('answers', 40, 60, [2_000, 10_000]),
  'service away': fault('answers', 60, 120, [1_000, 8_000]),
  'service lies': fault('answers', 45, 60, [3_000, 10_000], { alsoIn: 'lies' }),
  'service lies about its lists': fault('lies', 0, 12, [3_000, 10_000]),
  'orders vanish for seconds': fault('lies', 0, 30, [3_000, 20_000]),
  'lost address answers': fault('posts', 40, 60, [5_000, 15_000]),
  'operator makes addresses': fault('posts', 15, 10, [0, 0], { alsoIn: 'moves' }),
  'restore a copy of the database': fault('moves', 0, 30, [200, 2_000]),
  'restore a dump elsewhere': fault('moves', 0, 30, [200, 2_000], { needs: 'pg_dump' }),
  'restore a dump in place': fault('moves', 0, 30, [200, 2_000], { needs: 'pg_dump' }),
  'restore the data alone': fault('moves', 0, 30, [200, 2_000], { needs: 'pg_dump' }),
  'promote a lagging standby': fault('moves', 0, 30, [200, 2_000]),
  'clock steps': fault('clock', 60, 20, [3_000, 15_000], { needs: 'faketime' }),
  'disk full': fault('disk', 120, 45, [3_000, 12_000], { needs: 'tmpfs' }),
} satisfies Record<string, KindPlan>;

export type FaultKind = keyof typeof faultKinds;

export type PlannedFault = {
  kind: FaultKind;
  /** From the start of the faults. */
  atMs: number;
  lengthMs: number;
  /** 0..1: selects the target or the strength of the fault. */
  dice: readonly [number, number];
};

export type Plan = {
  faults: PlannedFault[];
  /** Kinds that cannot occur here, with the missing requirements. */
  skipped: { kind: FaultKind; needs: Need }[];
};

type PlanOptions = Pick<ChaosOptions, 'seed' | 'minutes' | 'focus' | 'queue'>;

/** The ledger is filled at the beginning; no fault begins near the end. */
const quietMs = 4_000;

/** The faults of a run in the order of time: a pure function of seed, length, focus and the machine's abilities. */
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
 * A full disk puts the data directory on its own disk, a restored database loses facts, and lies about a list take
 * time to be detected: they occur only if requested.
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
  // A fault longer than a third of the run leaves no time to recover.
  if (shortest * 3 > spanMs) return [];
  const count = Math.max(1, Math.floor(spanMs / everyMs));
  return Array.from({ length: count }, (_, place) => ({
    kind,
    atMs: Math.round(quietMs + ((place + random()) / count) * (spanMs - shortest)),
    lengthMs: Math.round(shortest + random() * (longest - shortest)),
    dice: [random(), random()] as const,
  }));
}
