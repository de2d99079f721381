import type { ListPort } from './list-port.ts';
import {
  afterFirstPage,
  afterPage,
  type ListState,
  onActualGrid,
  type PageFacts,
} from './list-state.ts';

/** One pass's hold on a list: it reads and stores through the port, and is the only holder of the state. */
export type ListSession<P extends PageFacts = PageFacts> = {
  readonly state: ListState;
  readonly port: ListPort<P>;
  /** Replaces the state; the next store writes it. */
  apply(next: ListState): void;
  read(page: number, upTo?: number, isFresh?: boolean): Promise<P>;
  /** Stores at once; returns the number of new rows. */
  store(pages: P[]): Promise<number>;
  /** Prepares a store of the pages and of the state as it is now; the write returns the number of new rows. */
  prepare(pages: P[]): () => Promise<number>;
  /** Marks rows as no longer listed. */
  unlist(keys: string[]): Promise<void>;
};

export function createListSession<P extends PageFacts>(
  port: ListPort<P>,
  initial: ListState,
): ListSession<P> {
  let state = initial;
  let latestObservation = 0;
  const prepare = (pages: P[]) => {
    const write = port.prepare(pages, state);
    return async () => {
      const { inserted, ledgerCount } = await write();
      state = { ...state, ledgerCount };
      return inserted;
    };
  };
  return {
    get state() {
      return state;
    },
    port,
    apply(next) {
      state = next;
    },
    async read(page, upTo = page, isFresh = false) {
      const answer = await port.read(page, upTo, isFresh);
      const isStale = isOvertaken(answer, state.serviceTotal, latestObservation);
      const taken = isStale ? await port.read(page, upTo, true) : answer;
      const isLatest = taken.observation >= latestObservation;
      if (isLatest) latestObservation = taken.observation;
      state = afterFirstPage(state, taken);
      const facts = onActualGrid(state, taken);
      state = afterPage(state, facts, isLatest);
      return facts;
    },
    store: (pages) => prepare(pages)(),
    prepare,
    async unlist(keys) {
      const { acceptedDifference } = state;
      // What an earlier scan accepted as one row too many is none any more.
      if (acceptedDifference < 0) {
        state = { ...state, acceptedDifference: Math.min(0, acceptedDifference + keys.length) };
      }
      const ledgerCount = (await port.ranks?.unlist(keys, state)) ?? state.ledgerCount;
      state = { ...state, ledgerCount };
    },
  };
}

/**
 * The page was fetched ahead, and the totals show that it and a page taken before it were not answered in the order
 * of their numbers: rows may have moved past both, or may not be counted yet.
 */
function isOvertaken(
  { isFresh, total, observation }: PageFacts,
  knownTotal: number | null,
  latestObservation: number,
): boolean {
  if (isFresh || total === null || knownTotal === null) return false;
  return total < knownTotal || (total > knownTotal && observation < latestObservation);
}
