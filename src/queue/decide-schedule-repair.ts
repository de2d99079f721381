/** A schedule as the configuration wants it. */
export type WantedSchedule = { name: string; everyMs: number };

/**
 * A schedule as the queue has it. `nextJob` is the job of its next run, which alone carries the schedule on:
 * waiting for its time or for a worker, being run, or nowhere.
 */
export type StoredSchedule = {
  name: string;
  everyMs: number | null;
  /** Unix milliseconds. */
  nextRunAt: number | null;
  nextJob: 'waiting' | 'active' | 'absent';
};

export type ScheduleRepair = {
  /** `put` stores the schedule (over an old one); `replace` removes it before; `nudge` adds one run now. */
  kind: 'put' | 'replace' | 'remove' | 'nudge';
  name: string;
};

/** A run that is due this long without being run has been forgotten by its workers. */
const lateMs = 60_000;
/** A job that is being run has handed on its schedule within a moment, or in stalled recovery (120 s), or never. */
const abandonedMs = 180_000;

/**
 * What to do so that the queue holds exactly the wanted schedules and each has a run ahead of it. Every repair
 * is harmless when it was not needed, so facts may be a moment old.
 */
export function decideScheduleRepair(
  now: number,
  wanted: WantedSchedule[],
  stored: StoredSchedule[],
): ScheduleRepair[] {
  const wantedNames = new Set(wanted.map((schedule) => schedule.name));
  const storedByName = new Map(stored.map((schedule) => [schedule.name, schedule]));
  const removals: ScheduleRepair[] = stored
    .filter((schedule) => !wantedNames.has(schedule.name))
    .map(({ name }) => ({ kind: 'remove', name }));
  const repairs = wanted.flatMap(({ name, everyMs }): ScheduleRepair[] => {
    const kind = decideOne(now, everyMs, storedByName.get(name));
    return kind ? [{ kind, name }] : [];
  });
  return [...removals, ...repairs];
}

function decideOne(
  now: number,
  everyMs: number,
  stored: StoredSchedule | undefined,
): ScheduleRepair['kind'] | null {
  if (!stored) return 'put';
  if (stored.nextRunAt === null) return 'replace';
  // A clock that was ahead and has been corrected leaves a silence as long as its error.
  if (stored.nextRunAt > now + 2 * Math.max(everyMs, stored.everyMs ?? 0)) return 'replace';
  if (stored.everyMs !== everyMs || stored.nextJob === 'absent') return 'put';
  const overdueMs = now - stored.nextRunAt;
  if (stored.nextJob === 'active') return overdueMs > abandonedMs ? 'put' : null;
  return overdueMs > lateMs ? 'nudge' : null;
}
