import { badGetAnswers, lostPostAnswers } from './bad-answers.ts';
import type { ChaosOptions } from './chaos-options.ts';
import type { World } from './fault-actions.ts';
import { type FaultKind, faultKinds, type Plan } from './fault-schedule.ts';
import type { Exit } from './fleet.ts';
import type { Living } from './living.ts';
import { focusCount, type MadeFaults } from './make-faults.ts';
import { faultsOff } from './probes.ts';
import { type ChaosOutcome, type Invariant, invariant, percentile } from './report.ts';
import type { ProcessFigures } from './resources.ts';

/** Half of a kind's recoveries take no longer than the first, all but a hundredth no longer than the second. */
const recoveryP50MaxMs = 30_000;
const recoveryP99MaxMs = 120_000;
/** Fewer have no middle: faults of other kinds fall into their time. */
const recoveriesMin = 5;
const schedulesMaxMs = 60_000;
const rssMaxMiB = 600;
const filesMax = 400;
/** Judged only of processes that live long enough for a slope to mean something. */
const slopeFromS = 600;
const slopeMaxMiBPerMinute = 5;

/** Puts together what the run was, did and found. */
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
    faults: [...plannedFaults(options, plan, made), ...answerFaults(options, world, made)],
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

function plannedFaults(options: ChaosOptions, plan: Plan, made: MadeFaults) {
  const kinds = Object.keys(faultKinds) as FaultKind[];
  return kinds.flatMap((kind) => {
    const planned = plan.faults.filter((fault) => fault.kind === kind);
    if (planned.length === 0) return [];
    const due = planned.filter(({ atMs, lengthMs }) => atMs + lengthMs <= made.elapsedMs).length;
    const enough = options.until === null ? Math.ceil(due / 2) : Math.ceil(due / 4);
    return [{ kind, planned: planned.length, made: made.counts.get(kind) ?? 0, enough }];
  });
}

/** Bad answers are drawn, not planned: each kind of them has to come in a run that is about them, or about all. */
function answerFaults({ focus, until }: ChaosOptions, world: World, made: MadeFaults) {
  const minutes = made.elapsedMs / 60_000;
  const { http } = world;
  const perKind = focus === null || focus === 'answers' ? Math.floor(minutes / 3) : 0;
  const gets = Object.keys(badGetAnswers).map((name) => row(`GET: ${name}`, perKind));
  const perLoss = focus === 'posts' ? Math.floor(minutes) : 0;
  const posts = Object.keys(lostPostAnswers).map((name) => row(`POST lost: ${name}`, perLoss));
  const lost = {
    kind: 'address answers lost, all kinds',
    planned: 0,
    made: http.counts.lostPosts,
    enough: focus === null || focus === 'posts' ? Math.floor(minutes) : 0,
  };
  const goal =
    until === null
      ? []
      : [
          {
            kind: `what --focus ${focus} counts`,
            planned: until,
            made: focusCount({ focus }, world, made.counts),
            enough: until,
          },
        ];
  return [...gets, ...posts, lost, ...goal];

  function row(kind: string, enough: number) {
    return { kind, planned: 0, made: http.made.get(kind) ?? 0, enough };
  }
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
