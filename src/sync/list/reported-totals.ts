import type { ReportedTotal } from '../../kernel/vocabulary.ts';
import { isTotalReported, type ListState, type PageFacts, withCheckpoint } from './list-state.ts';

/**
 * Number of totals reported before a write was prepared, and whether rows have come without a total since the last one.
 */
export type TotalsSoFar = { reports: number; hasRowsSince: boolean };

/**
 * Tracks during one pass whether rows have come with answers without a total: the known total is older than they are.
 * Writes end after later pages were read, so each keeps the number of totals at its preparation.
 */
export function createReportedTotals() {
  let now: TotalsSoFar = { reports: 0, hasRowsSince: false };
  let olderAt: number | null = null;
  return {
    read({ serviceTotal }: ListState, facts: PageFacts, isLatest: boolean): void {
      const { reports, hasRowsSince } = now;
      const isWithout = serviceTotal !== null && facts.total === null && facts.listed > 0;
      if (isTotalReported(facts, isLatest)) now = { reports: reports + 1, hasRowsSince: false };
      else now = { reports, hasRowsSince: hasRowsSince || isWithout };
    },
    now: () => now,
    /**
     * Returns true if this write, or an earlier one at the same total, has brought rows that the total may not count.
     */
    isOlder: ({ reports, hasRowsSince }: TotalsSoFar, inserted: number): boolean =>
      olderAt === reports || (hasRowsSince && inserted > 0),
    end({ reports, hasRowsSince }: TotalsSoFar, inserted: number): void {
      if (hasRowsSince && inserted > 0) olderAt = reports;
    },
  };
}

/** Takes over a later total of another writer. If the later one of both is lower, the total has fallen. */
export function afterTotalBeside(state: ListState, beside: ReportedTotal): ListState {
  const isLater = beside.totalObservation > state.totalObservation;
  const [earlier, later] = isLater ? [state, beside] : [beside, state];
  const fall = Math.max(0, (earlier.serviceTotal ?? 0) - (later.serviceTotal ?? 0));
  const { serviceTotal, totalObservation } = later;
  const reported = { ...state, serviceTotal, totalObservation };
  return withCheckpoint(reported, { fallen: state.checkpoint.fallen + fall });
}
