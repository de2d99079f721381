import { badGetAnswers, lostPostAnswers } from './bad-answers.ts';
import type { ChaosOptions } from './chaos-options.ts';
import type { World } from './fault-actions.ts';
import { type FaultKind, faultKinds, type Plan } from './fault-schedule.ts';

/** Numbers of faults of one kind: planned, made, and the minimum for a meaningful run. */
export type FaultRow = { kind: string; planned: number; made: number; enough: number };

type Run = {
  options: Pick<ChaosOptions, 'focus' | 'until' | 'minutes'>;
  world: Pick<World, 'http'>;
  plan: Plan;
  made: { counts: ReadonlyMap<FaultKind, number> };
};

/**
 * Counts the faults of a run whose faults lasted for `elapsedMs`. Time beyond the planned minutes does not raise the
 * minimum.
 */
export function countFaults(run: Run, elapsedMs: number): FaultRow[] {
  const countedMs = Math.min(elapsedMs, run.options.minutes * 60_000);
  return [...plannedFaults(run, countedMs), ...answerFaults(run, countedMs)];
}

function plannedFaults({ options, plan, made }: Run, elapsedMs: number): FaultRow[] {
  const kinds = Object.keys(faultKinds) as FaultKind[];
  return kinds.flatMap((kind) => {
    const planned = plan.faults.filter((fault) => fault.kind === kind);
    if (planned.length === 0) return [];
    const due = planned.filter(({ atMs, lengthMs }) => atMs + lengthMs <= elapsedMs).length;
    const enough = options.until === null ? Math.ceil(due / 2) : Math.ceil(due / 4);
    return [{ kind, planned: planned.length, made: made.counts.get(kind) ?? 0, enough }];
  });
}

/** Bad answers are drawn, not planned: each of their kinds must occur in a run about them, or about all faults. */
function answerFaults({ options, world, made }: Run, elapsedMs: number): FaultRow[] {
  const { focus, until } = options;
  const minutes = elapsedMs / 60_000;
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

  function row(kind: string, enough: number): FaultRow {
    return { kind, planned: 0, made: http.made.get(kind) ?? 0, enough };
  }
}

/** Returns the current value of the count for which `--until` sets a goal. */
export function focusCount(
  { focus }: Pick<ChaosOptions, 'focus'>,
  { http }: Pick<World, 'http'>,
  counts: ReadonlyMap<FaultKind, number>,
): number {
  const made = (...kinds: FaultKind[]) =>
    kinds.reduce((sum, kind) => sum + (counts.get(kind) ?? 0), 0);
  switch (focus) {
    case 'kills':
      return made('kill a daemon', 'kill a one-off command');
    case 'answers':
      return http.counts.requests;
    case 'posts':
      return http.counts.lostPosts;
    case 'database':
      return made('end all database connections');
    case 'redis':
      return made('flush Redis');
    case 'clock':
      return made('clock steps');
    case 'disk':
      return made('disk full');
    case 'moves':
    case 'lies':
      return (Object.keys(faultKinds) as FaultKind[])
        .filter((kind) => faultKinds[kind].focus === focus)
        .reduce((sum, kind) => sum + made(kind), 0);
    case null:
      return 0;
  }
}
