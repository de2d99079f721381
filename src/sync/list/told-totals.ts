import type { ToldTotal } from '../../kernel/vocabulary.ts';
import { isTotalTold, type ListState, type PageFacts, withCheckpoint } from './list-state.ts';

/**
 * Number of totals reported before a write was prepared, and whether rows have come without a total since the last one.
 */
export type Telling = { tellings: number; isUntold: boolean };

/**
 * Tracks during one pass whether rows have come with answers without a total: the known total is older than they are.
 * Writes end after later pages were read, so each keeps the number of totals at its preparation.
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
    /**
     * Returns true if this write, or an earlier one at the same total, has brought rows that the total may not count.
     */
    isOlder: ({ tellings, isUntold }: Telling, inserted: number): boolean =>
      olderAt === tellings || (isUntold && inserted > 0),
    end({ tellings, isUntold }: Telling, inserted: number): void {
      if (isUntold && inserted > 0) olderAt = tellings;
    },
  };
}

/** Takes over a later total of another writer. If the later one of both is lower, the total has fallen. */
export function afterTotalBeside(state: ListState, beside: ToldTotal): ListState {
  const isLater = beside.totalObservation > state.totalObservation;
  const [earlier, later] = isLater ? [state, beside] : [beside, state];
  const fall = Math.max(0, (earlier.serviceTotal ?? 0) - (later.serviceTotal ?? 0));
  const { serviceTotal, totalObservation } = later;
  const told = { ...state, serviceTotal, totalObservation };
  return withCheckpoint(told, { fallen: state.checkpoint.fallen + fall });
}
