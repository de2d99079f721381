/** A schedule according to the configuration. */
export type WantedSchedule = { name: string; everyMs: number };

/**
 * A schedule according to the queue. `nextJob` is the state of the job of the next run, which alone continues the
 * schedule.
 */
export type StoredSchedule = {
  name: string;
  everyMs: number | null;
  /** Unix milliseconds. */
  nextRunAt: number | null;
  nextJob: 'waiting' | 'active' | 'absent';
};

/** Where the job of the next run is, by BullMQ's name of its state. A finished one does not continue the schedule. */
export function placeOf(state: string): StoredSchedule['nextJob'] {
  if (state === 'active') return 'active';
  return ['unknown', 'completed', 'failed'].includes(state) ? 'absent' : 'waiting';
}

export type ScheduleRepair = {
  /**
   * `put` stores the schedule, over an old one if present. `replace` removes the old one first. `remove` deletes it.
   * `nudge` adds one run now.
   */
  kind: 'put' | 'replace' | 'remove' | 'nudge';
  name: string;
};

/** Delay after which a due run that no worker has taken counts as forgotten. */
const lateMs = 60_000;
/**
 * Delay after which an active job counts as abandoned. A running job stores the next run at once, or once it was put
 * back because no worker ran it (within 120 s), or never.
 */
const abandonedMs = 180_000;

/**
 * Decides which repairs give the queue exactly the wanted schedules, each with a next run. An unnecessary repair is
 * harmless, so the facts may be slightly outdated.
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
  // A clock that was fast and has been corrected leaves a next run as far in the future as its error.
  if (stored.nextRunAt > now + 2 * Math.max(everyMs, stored.everyMs ?? 0)) return 'replace';
  if (stored.everyMs !== everyMs || stored.nextJob === 'absent') return 'put';
  const overdueMs = now - stored.nextRunAt;
  if (stored.nextJob === 'active') return overdueMs > abandonedMs ? 'put' : null;
  return overdueMs > lateMs ? 'nudge' : null;
}
