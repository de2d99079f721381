import { afterSizes, onActualGrid } from './clamped-size.ts';
import type { Batch, Found, ListPort, Stored } from './list-port.ts';
import {
  afterPage,
  type ListState,
  type PageFacts,
  withCheckpoint,
  withDifferingDays,
} from './list-state.ts';
import type { ReadDays } from './read-days.ts';
import { createToldTotals } from './told-totals.ts';

/** Access of one pass to a list: reads and stores through the port, and is the only holder of the state. */
export type ListSession<P extends PageFacts = PageFacts> = {
  readonly state: ListState;
  readonly port: ListPort<P>;
  /** Pages requested so far. */
  readonly requests: number;
  /** The state holds changes that no store has written. */
  readonly isDirty: boolean;
  /** Replaces the state; the next store writes it. */
  apply(next: ListState): void;
  read(page: number, upTo?: number, isFresh?: boolean): Promise<P>;
  /** Stores immediately; returns the number of new rows. */
  store(pages: P[], days?: ReadDays | null): Promise<number>;
  /** Prepares a store of the pages and of the present state; the write returns the number of new rows. */
  prepare(batch: Batch<P>): () => Promise<number>;
  /** Takes over the counts after a write. */
  settle(stored: Stored): void;
  /** Marks rows as unlisted; does nothing if the port has no `unlist`. */
  unlist(keys: string[]): Promise<void>;
};

export function createListSession<P extends PageFacts>(
  port: ListPort<P>,
  initial: ListState,
): ListSession<P> {
  let state = initial;
  let latestObservation = 0;
  let latestAnswer = 0;
  let requests = 0;
  let written = initial;
  const totals = createToldTotals();
  const settle = (stored: Stored): void => {
    state = afterStore(state, stored);
  };
  const prepare = (batch: Batch<P>) => {
    const prepared = state;
    const telling = totals.now();
    const write = port.prepare(batch, prepared);
    return async () => {
      let committed = prepared;
      const stored = await write((found) => {
        const isOlder = prepared.checkpoint.isTotalOlder || totals.isOlder(telling, found.inserted);
        // Writes that ended after this one was prepared have found differing days of their own.
        const { differingDays } = state.checkpoint;
        const next = withCheckpoint(prepared, { differingDays, isTotalOlder: isOlder });
        committed = withDifferingDays(next, accusedDays(batch, found));
        return committed;
      });
      totals.end(telling, stored.inserted);
      if (totals.isOlder(totals.now(), 0)) state = withCheckpoint(state, { isTotalOlder: true });
      settle({ ...stored, differingDays: accusedDays(batch, stored) });
      written = committed;
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
      return state !== written && storedFormOf(state) !== storedFormOf(written);
    },
    port,
    apply(next) {
      state = next;
    },
    async read(page, upTo = page, isFresh = false) {
      requests += 1;
      const answer = await port.read(page, upTo, isFresh);
      const isStale = isOvertaken(answer, state.serviceTotal, latestObservation);
      if (isStale) requests += 1;
      const isLater = answer.observation > latestObservation && answer.answered > latestAnswer;
      if (isStale && isLater) state = afterFall(state, answer);
      const taken = isStale ? await port.read(page, upTo, true) : answer;
      const isLatest = taken.observation >= latestObservation;
      if (isLatest) latestObservation = taken.observation;
      latestAnswer = Math.max(latestAnswer, taken.answered);
      state = afterSizes(state, taken);
      const facts = onActualGrid(state, taken);
      state = afterPage(state, facts, isLatest);
      totals.read(state, facts, isLatest);
      return facts;
    },
    store: (pages, days = null) => prepare({ pages, days })(),
    prepare,
    settle,
    async unlist(keys) {
      if (!port.unlist) return;
      state = afterVanishing(state, keys.length);
      settle(await port.unlist(keys, state));
    },
  };
}

/** Returns the days that a write found to differ. A glance at the list's start records none. */
function accusedDays({ isGlance }: Batch<PageFacts>, { differingDays }: Found): number[] {
  return isGlance ? [] : differingDays;
}

/**
 * Explains falls of the total by rows found to have vanished, the earliest fall first. Rows found during a scan
 * vanished before it began, so they explain no later fall.
 */
function afterVanishing(state: ListState, rows: number): ListState {
  const { fallen, fallenBefore, walk } = state.checkpoint;
  const fallenSince = walk === null || fallenBefore === null ? 0 : fallen - fallenBefore;
  return withCheckpoint(state, {
    fallen: fallenSince + Math.max(0, fallen - fallenSince - rows),
    fallenBefore: fallenBefore && Math.max(0, fallenBefore - rows),
  });
}

/** Counts a fall of the total that only a discarded answer shows. */
function afterFall(state: ListState, { total }: PageFacts): ListState {
  const fall = Math.max(0, (state.serviceTotal ?? 0) - (total ?? 0));
  return withCheckpoint(state, { fallen: state.checkpoint.fallen + fall });
}

/** Returns the part of the state that a store writes. The counts belong to the database. */
function storedFormOf({ ledgerCount, guests, passes, ...state }: ListState): string {
  return JSON.stringify(state);
}

/** Returns the state after a write: its counts, and the days that it found to differ. */
function afterStore(state: ListState, stored: Stored): ListState {
  const { ledgerCount, guests, differingDays } = stored;
  const next = { ...state, ledgerCount, guests };
  return withDifferingDays(next, differingDays);
}

/**
 * Returns true if totals show that the service answered this page, fetched ahead, and an earlier one out of order. Rows
 * may have moved past both pages, or may not be counted yet.
 */
function isOvertaken(
  { isFresh, total, observation }: PageFacts,
  knownTotal: number | null,
  latestObservation: number,
): boolean {
  if (isFresh || total === null || knownTotal === null) return false;
  return total < knownTotal || (total > knownTotal && observation < latestObservation);
}
