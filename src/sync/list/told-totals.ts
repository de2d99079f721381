import { isTotalTold, type ListState, type PageFacts } from './list-state.ts';

/** What a write knows of the total that it is committed with. */
export type Telling = { tellings: number; isUntold: boolean };

/**
 * Follows over one pass whether rows have come in with answers that gave no total: the known one is older than they.
 * Writes end after later pages were read, so each remembers at which telling of the total it was prepared.
 */
export function createToldTotals() {
  let now: Telling = { tellings: 0, isUntold: false };
  let olderAt: number | null = null;
  return {
    read({ serviceTotal }: ListState, facts: PageFacts, isLatest: boolean): void {
      const { tellings, isUntold } = now;
      const isWithout = serviceTotal !== null && facts.total === null && facts.listed > 0;
      if (isTotalTold(facts, isLatest)) now = { tellings: tellings + 1, isUntold: false };
      else now = { tellings, isUntold: isUntold || isWithout };
    },
    now: () => now,
    /** A write that was prepared at this telling, or one before it, has brought rows that the total may not count. */
    isOlder: ({ tellings, isUntold }: Telling, inserted: number): boolean =>
      olderAt === tellings || (isUntold && inserted > 0),
    end({ tellings, isUntold }: Telling, inserted: number): void {
      if (isUntold && inserted > 0) olderAt = tellings;
    },
  };
}
