import type { Batch, ListPort, Stored } from './list-port.ts';
import {
  afterPage,
  afterSizes,
  type ListState,
  onActualGrid,
  type PageFacts,
  withCheckpoint,
} from './list-state.ts';
import type { ReadDays } from './read-days.ts';

/** One pass's hold on a list: it reads and stores through the port, and is the only holder of the state. */
export type ListSession<P extends PageFacts = PageFacts> = {
  readonly state: ListState;
  readonly port: ListPort<P>;
  /** Pages asked for so far. */
  readonly requests: number;
  /** The state holds something that no store has written. */
  readonly isDirty: boolean;
  /** Replaces the state; the next store writes it. */
  apply(next: ListState): void;
  read(page: number, upTo?: number, isFresh?: boolean): Promise<P>;
  /** Stores at once; returns the number of new rows. */
  store(pages: P[], days?: ReadDays | null): Promise<number>;
  /** Prepares a store of the pages and of the state as it is now; the write returns the number of new rows. */
  prepare(batch: Batch<P>): () => Promise<number>;
  /** Takes over the counts that a write has left. */
  settle(stored: Stored): void;
  /** Marks rows as no longer listed. */
  unlist(keys: string[]): Promise<void>;
};

const differingDaysMax = 366;

export function createListSession<P extends PageFacts>(
  port: ListPort<P>,
  initial: ListState,
): ListSession<P> {
  let state = initial;
  let latestObservation = 0;
  let latestAnswer = 0;
  let requests = 0;
  let written = storedFormOf(initial);
  const settle = (stored: Stored): void => {
    state = afterStore(state, stored);
  };
  const prepare = (batch: Batch<P>) => {
    const isUntold = !state.checkpoint.isTotalOlder && isWithoutTotal(batch.pages.at(-1), state);
    if (isUntold) state = withCheckpoint(state, { isTotalOlder: true });
    const write = port.prepare(batch, state);
    written = storedFormOf(state);
    return async () => {
      const stored = await write();
      settle(stored);
      if (isUntold && stored.inserted === 0) state = withCheckpoint(state, { isTotalOlder: false });
      return stored.inserted;
    };
  };
  return {
    get state() {
      return state;
    },
    get requests() {
      return requests;
    },
    get isDirty() {
      return storedFormOf(state) !== written;
    },
    port,
    apply(next) {
      state = next;
    },
    async read(page, upTo = page, isFresh = false) {
      requests += 1;
      const answer = await port.read(page, upTo, isFresh);
      const isStale = isOvertaken(answer, state.serviceTotal, latestObservation);
      const isLater = answer.observation > latestObservation && answer.answered > latestAnswer;
      if (isStale && isLater) state = afterFall(state, answer);
      const taken = isStale ? await port.read(page, upTo, true) : answer;
      const isLatest = taken.observation >= latestObservation;
      if (isLatest) latestObservation = taken.observation;
      latestAnswer = Math.max(latestAnswer, taken.answered);
      state = afterSizes(state, taken);
      const facts = onActualGrid(state, taken);
      state = afterPage(state, facts, isLatest);
      return facts;
    },
    store: (pages, days = null) => prepare({ pages, days })(),
    prepare,
    settle,
    async unlist(keys) {
      if (!port.unlist) return;
      const { checkpoint } = state;
      // What the fall of the total was about is known for these rows.
      state = withCheckpoint(state, { fallen: Math.max(0, checkpoint.fallen - keys.length) });
      settle(await port.unlist(keys, state));
    },
  };
}

/** Rows of a page without a total may be newer than the total that is known. */
function isWithoutTotal(last: PageFacts | undefined, { serviceTotal }: ListState): boolean {
  return serviceTotal !== null && last !== undefined && last.total === null && last.listed > 0;
}

/** An answer that is not taken may tell all the same that rows have gone. */
function afterFall(state: ListState, { total }: PageFacts): ListState {
  const fall = Math.max(0, (state.serviceTotal ?? 0) - (total ?? 0));
  return withCheckpoint(state, { fallen: state.checkpoint.fallen + fall });
}

/** What a store writes of the state; the counts are the database's own. */
function storedFormOf({ ledgerCount, guests, passes, ...state }: ListState): string {
  return JSON.stringify(state);
}

/** The state after a write: its counts, and the days that it found to differ. */
function afterStore(state: ListState, stored: Stored): ListState {
  const { ledgerCount, guests, differingDays } = stored;
  const next = { ...state, ledgerCount, guests };
  if (differingDays.length === 0) return next;
  const days = new Set([...state.checkpoint.differingDays, ...differingDays]);
  const kept = [...days].sort((a, b) => a - b).slice(0, differingDaysMax);
  return withCheckpoint(next, { differingDays: kept });
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
