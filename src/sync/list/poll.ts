import type { ReadDays } from '../../kernel/vocabulary.ts';
import type { ListSession } from './list-session.ts';
import type { ListState, PageFacts } from './list-state.ts';

/** Result of a poll: `isSettled` if the counts agree now, the new rows, and the days that it read completely. */
export type Poll = { isSettled: boolean; inserted: number; days: ReadDays | null };

/**
 * Returns true for the first page of a list that had no rows before: its total may count only the rows of the page, so
 * the next page is read too.
 */
export function mayGoOn(wasEmpty: boolean, { page, listed }: PageFacts): boolean {
  return wasEmpty && page === 1 && listed > 0;
}

export async function storeShown<P extends PageFacts>(
  session: ListSession<P>,
  facts: P,
): Promise<number> {
  return facts.listed === 0 ? 0 : await session.store([facts]);
}

/** Returns true if the counts are those of the end of the last pass, so that there is nothing new to find. */
export function isKnownCounts({ checkpoint, serviceTotal, ledgerCount }: ListState): boolean {
  const { lastSeen } = checkpoint;
  return (
    serviceTotal !== null && lastSeen?.total === serviceTotal && lastSeen.count === ledgerCount
  );
}
