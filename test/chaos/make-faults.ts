import { setTimeout as delay } from 'node:timers/promises';
import type { ChaosOptions } from './chaos-options.ts';
import { countFaults, focusCount } from './count-faults.ts';
import { faultActions, type World } from './fault-actions.ts';
import type { FaultKind, Plan, PlannedFault } from './fault-schedule.ts';
import type { Outage } from './judge-exits.ts';
import type { Living } from './living.ts';

export type MadeFaults = {
  counts: ReadonlyMap<FaultKind, number>;
  /** Faults that could not be made, with the reason: a defect of the runner or the machine. */
  failures: string[];
  outages: Outage[];
  /** Time (ms) during which faults were made. */
  elapsedMs: number;
};

type Tools = {
  world: World;
  plan: Plan;
  options: ChaosOptions;
  living: Living;
  say(line: string): void;
  signal: AbortSignal;
};

const progressMs = 10_000;
const lanesMaxMs = 120_000;
/** A run on a busy machine with too few faults at its end is extended to at most this multiple of its length. */
const extendedTimes = 3;

/** Makes the planned faults, in each lane one after another, and sends a probe after each. */
export async function makeFaults(tools: Tools): Promise<MadeFaults> {
  const { world, plan, options, signal } = tools;
  const counts = new Map<FaultKind, number>();
  const outages: Outage[] = [];
  const failures: string[] = [];
  const lanes = new Map<string, Promise<void>>();
  const startedAt = performance.now();
  const lengthMs = options.minutes * 60_000;
  const lacksFaults = () =>
    options.until === null &&
    countFaults({ ...tools, made: { counts } }, lengthMs).some((row) => row.made < row.enough);
  const isOver = () => {
    const elapsedMs = performance.now() - startedAt;
    const isLate = elapsedMs >= lengthMs * extendedTimes;
    const isEnded = elapsedMs >= lengthMs && (isLate || !lacksFaults());
    return signal.aborted || isEnded || isEnough(options, world, counts);
  };

  const make = async (fault: PlannedFault, lane: string) => {
    if (isOver()) return;
    const from = Date.now();
    try {
      await faultActions[fault.kind].act(world, fault);
      counts.set(fault.kind, (counts.get(fault.kind) ?? 0) + 1);
      const [orderNo] = world.oracle.arrive(1, { isLate: false });
      if (orderNo) world.probes.watch(fault.kind, orderNo);
    } catch (error) {
      failures.push(`${fault.kind}: ${error}`);
    }
    if (lane === 'database' || lane === 'redis') outages.push({ of: lane, from, to: Date.now() });
  };

  const progress = setInterval(() => tools.say(progressLine(tools, counts, startedAt)), progressMs);
  for (const fault of plan.faults) {
    while (!isOver() && performance.now() < startedAt + fault.atMs) await delay(20);
    if (isOver()) break;
    const lane = faultActions[fault.kind].lane(fault, world);
    lanes.set(
      lane,
      (lanes.get(lane) ?? Promise.resolve()).then(() => make(fault, lane)),
    );
  }
  while (!isOver()) await delay(50);
  const elapsedMs = performance.now() - startedAt;
  await Promise.race([Promise.all(lanes.values()), delay(lanesMaxMs, undefined, { ref: false })]);
  clearInterval(progress);
  return { counts, failures, outages, elapsedMs };
}

function isEnough(options: ChaosOptions, world: World, counts: ReadonlyMap<FaultKind, number>) {
  return options.until !== null && focusCount(options, world, counts) >= options.until;
}

function progressLine(
  { world, living, options }: Tools,
  counts: ReadonlyMap<FaultKind, number>,
  startedAt: number,
): string {
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const faults = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const { requests, badGets, lostPosts } = world.http.counts;
  const parts = [
    `${seconds} s of ${options.minutes * 60}`,
    `${faults} faults`,
    `${requests} requests, ${badGets} spoilt`,
    `${lostPosts} address answers lost`,
    `${living.done.arrivals} arrivals, ${world.probes.pending().length} probes waiting`,
    `${living.done.taken} addresses taken`,
  ];
  if (options.until !== null)
    parts.push(`${focusCount(options, world, counts)} of ${options.until} ${options.focus}`);
  return parts.join(' · ');
}
