import type { ChaosOptions } from './chaos-options.ts';
import { countFaults } from './count-faults.ts';
import type { World } from './fault-actions.ts';
import type { Plan } from './fault-schedule.ts';
import type { Exit } from './fleet.ts';
import type { Living } from './living.ts';
import type { MadeFaults } from './make-faults.ts';
import { faultsOff } from './probes.ts';
import { type ChaosOutcome, type Invariant, invariant, percentile } from './report.ts';
import type { ProcessFigures } from './resources.ts';

/** Half of a kind's recoveries take no longer than the first, all but a hundredth no longer than the second. */
const recoveryP50MaxMs = 30_000;
const recoveryP99MaxMs = 120_000;
/** With fewer recoveries a median means nothing, because faults of other kinds fall into their time. */
const recoveriesMin = 5;
const schedulesMaxMs = 60_000;
const rssMaxMiB = 600;
const filesMax = 400;
/** Applies only to processes that live long enough for a meaningful slope. */
const slopeFromS = 600;
const slopeMaxMiBPerMinute = 5;

/** Combines the settings, the faults and the findings of the run. */
export function describeRun(run: {
  options: ChaosOptions;
  world: World;
  plan: Plan;
  made: MadeFaults;
  living: Living;
  invariants: Invariant[];
  resources: ProcessFigures[];
  replay: string;
}): ChaosOutcome {
  const { options, world, plan, made, living, resources } = run;
  const recoveries = world.probes.times;
  return {
    seed: options.seed,
    replay: run.replay,
    minutes: Math.round(made.elapsedMs / 6_000) / 10,
    queue: options.queue,
    folder: options.out,
    faults: countFaults(run, made.elapsedMs),
    skipped: plan.skipped.map(({ kind, needs }) => ({ kind, lacks: needs })),
    work: { ...living.done, ...world.http.counts },
    exits: countExits(world.fleet.exits),
    recoveries,
    resources,
    invariants: [
      ...run.invariants,
      invariant('faults.made', 'Every planned fault could be made', made.failures),
      invariant(
        'recovery.in-time',
        `Recovered within ${recoveryP50MaxMs / 1_000} s (p50) and ${recoveryP99MaxMs / 1_000} s (p99); schedules within ${schedulesMaxMs / 1_000} s`,
        slowRecoveries(recoveries),
      ),
      invariant(
        'resources.bounded',
        `At most ${rssMaxMiB} MiB and ${filesMax} open files a process, and no steady growth`,
        resources.filter(isGreedy),
      ),
    ],
  };
}

function countExits(exits: Exit[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { command, code, signal, told } of exits) {
    const name = `${command}: ${told?.signal ?? 'by itself'}, ended with ${code ?? signal}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function slowRecoveries(recoveries: ReadonlyMap<string, readonly number[]>) {
  return [...recoveries].flatMap(([kind, times]) => {
    if (kind === faultsOff) return [];
    const [p50, p99] = [percentile(times, 50), percentile(times, 99)];
    const isSlow = kind.startsWith('schedules')
      ? p99 > schedulesMaxMs
      : (times.length >= recoveriesMin && p50 > recoveryP50MaxMs) || p99 > recoveryP99MaxMs;
    return isSlow ? [{ kind, p50, p99 }] : [];
  });
}

function isGreedy(figures: ProcessFigures): boolean {
  const { rssMaxMiB: rss, filesMax: files, seconds, rssMiBPerMinute } = figures;
  const isGrowing =
    seconds >= slopeFromS && rssMiBPerMinute !== null && rssMiBPerMinute > slopeMaxMiBPerMinute;
  return rss > rssMaxMiB || files > filesMax || isGrowing;
}
