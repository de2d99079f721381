import type { ReadDays, ReportedTotal } from '../../kernel/vocabulary.ts';
import { afterSizes, onActualGrid } from './clamped-size.ts';
import type { Batch, Found, ListPort, Stored } from './list-port.ts';
import {
  afterPage,
  type ListState,
  type PageFacts,
  withCheckpoint,
  withDifferingDays,
  withoutKeys,
} from './list-state.ts';
import { afterTotalBeside, createReportedTotals } from './reported-totals.ts';

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
  /** Reads one page of another size, which changes no state; null if the service refuses it. */
  readSized(page: number, size: number): Promise<P | null>;
  /** Stores immediately; returns the number of new rows. */
  store(pages: P[], days?: ReadDays | null): Promise<number>;
  /** Prepares a store of the pages and of the present state; the write returns the number of new rows. */
  prepare(batch: Batch<P>): () => Promise<number>;
  /** Takes over the counts after a write. */
  settle(stored: Stored): void;
  /** Marks rows as unlisted; does nothing if the port has no `unlist`. */
  unlist(keys: string[]): Promise<void>;
  /** Returns the keys on pages that were read since the last call and not stored, such as overtaken ones. */
  takeUnstoredKeys(): Set<string>;
};

export function createListSession<P extends PageFacts>(
  port: ListPort<P>,
  initial: ListState,
): ListSession<P> {
  return new Session(port, initial);
}

class Session<P extends PageFacts> implements ListSession<P> {
  readonly port: ListPort<P>;
  readonly #totals = createReportedTotals();
  #state: ListState;
  #written: ListState;
  #requests = 0;
  #latestObservation = 0;
  #latestAnswer = 0;
  #unstored = new Set<PageFacts>();
  /** The latest total that another writer has stored during this pass. */
  #totalBeside: ReportedTotal | null = null;

  constructor(port: ListPort<P>, initial: ListState) {
    this.port = port;
    this.#state = initial;
    this.#written = initial;
  }

  get state() {
    return this.#state;
  }

  get requests() {
    return this.#requests;
  }

  get isDirty() {
    return (
      this.#state !== this.#written && storedFormOf(this.#state) !== storedFormOf(this.#written)
    );
  }

  apply(next: ListState) {
    this.#state = next;
  }

  async read(page: number, upTo = page, isFresh = false) {
    this.#requests += 1;
    const answer = await this.port.read(page, upTo, isFresh);
    const isStale = isOvertaken(answer, this.#state.serviceTotal, this.#latestObservation);
    if (isStale) {
      this.#requests += 1;
      this.#unstored.add(answer);
    }
    const isLater =
      answer.observation > this.#latestObservation && answer.answered > this.#latestAnswer;
    if (isStale) this.#state = afterOvertaken(this.#state, answer, isLater);
    const taken = isStale ? await this.port.read(page, upTo, true) : answer;
    const isLatest = taken.observation >= this.#latestObservation;
    if (isLatest) this.#latestObservation = taken.observation;
    this.#latestAnswer = Math.max(this.#latestAnswer, taken.answered);
    this.#state = afterSizes(this.#state, taken);
    const facts = onActualGrid(this.#state, taken);
    this.#state = afterPage(this.#state, facts, isLatest);
    this.#totals.read(this.#state, facts, isLatest);
    this.#unstored.add(facts);
    return facts;
  }

  async readSized(page: number, size: number) {
    this.#requests += 1;
    const facts = await this.port.readSized(page, size);
    if (facts !== null) this.#unstored.add(facts);
    return facts;
  }

  takeUnstoredKeys() {
    const keys = new Set([...this.#unstored].flatMap((facts) => facts.keys));
    this.#unstored.clear();
    return keys;
  }

  store(pages: P[], days: ReadDays | null = null) {
    return this.prepare({ pages, days })();
  }

  prepare(batch: Batch<P>) {
    const prepared = this.#state;
    const totals = this.#totals.now();
    const write = this.port.prepare(batch, prepared);
    for (const facts of batch.pages) this.#unstored.delete(facts);
    return async () => {
      let committed = prepared;
      const stored = await write((found) => {
        const isOlder =
          prepared.checkpoint.isTotalOlder || this.#totals.isOlder(totals, found.inserted);
        const known = withFindings(withTotal(prepared, this.#totalBeside), this.#state);
        const next = withCheckpoint(known, { isTotalOlder: isOlder });
        committed = afterComparison(next, found, batch.isGlance);
        return committed;
      });
      this.#totals.end(totals, stored.inserted);
      if (this.#totals.isOlder(this.#totals.now(), 0))
        this.#state = withCheckpoint(this.#state, { isTotalOlder: true });
      this.settle(stored, batch.isGlance);
      this.#written = committed;
      return stored.inserted;
    };
  }

  settle(stored: Stored, isGlance = false) {
    const { ledgerCount, guests, conflicts, totalBeside } = stored;
    this.#totalBeside = totalBeside ?? this.#totalBeside;
    const reported = totalBeside ? afterTotalBeside(this.#state, totalBeside) : this.#state;
    const counted = { ...reported, ledgerCount, guests, conflicts };
    this.#state = afterComparison(counted, stored, isGlance);
  }

  async unlist(keys: string[]) {
    if (!this.port.unlist) return;
    this.#state = afterVanishing(this.#state, keys.length);
    this.settle(await this.port.unlist(keys, this.#state));
  }
}

/**
 * Returns the state after a comparison of days. A scan proves nothing if days that it has read were not compared. A
 * glance at the list's start records nothing.
 */
function afterComparison(state: ListState, { differingDays }: Found, isGlance = false): ListState {
  if (isGlance) return state;
  return differingDays === null ? withoutReading(state) : withDifferingDays(state, differingDays);
}

/** Returns the prepared state with the total that another writer has stored since, and its fall. */
function withTotal(prepared: ListState, beside: ReportedTotal | null): ListState {
  const isLater = beside !== null && beside.totalObservation > prepared.totalObservation;
  return isLater ? afterTotalBeside(prepared, beside) : prepared;
}

/** Returns the prepared state with the findings of the writes that ended after it was prepared. */
function withFindings(prepared: ListState, { checkpoint }: ListState): ListState {
  const { differingDays, walk } = checkpoint;
  const next = withCheckpoint(prepared, { differingDays });
  return walk?.reading === null ? withoutReading(next) : next;
}

function withoutReading(state: ListState): ListState {
  const { walk } = state.checkpoint;
  return walk === null ? state : withCheckpoint(state, { walk: { ...walk, reading: null } });
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

/** Takes over what only a discarded answer shows: its rows, and the fall of the total until a later answer. */
function afterOvertaken(state: ListState, { keys, total }: PageFacts, isLater: boolean): ListState {
  const fall = isLater ? Math.max(0, (state.serviceTotal ?? 0) - (total ?? 0)) : 0;
  const { fallen, unseen } = state.checkpoint;
  return withCheckpoint(state, { fallen: fallen + fall, unseen: withoutKeys(unseen, keys) });
}

/**
 * Returns the part of the state that a store must write. The counts belong to the database, and another answer with the
 * same total is no news.
 */
function storedFormOf(state: ListState): string {
  const { ledgerCount, guests, conflicts, passes, totalObservation, ...written } = state;
  return JSON.stringify(written);
}

/**
 * Returns true if totals show that the service answered this page, which was fetched ahead, and an earlier one out of
 * order. Rows may have moved past both pages, or may not be counted yet.
 */
function isOvertaken(
  { isFresh, total, observation }: PageFacts,
  knownTotal: number | null,
  latestObservation: number,
): boolean {
  if (isFresh || total === null || knownTotal === null) return false;
  return total < knownTotal || (total > knownTotal && observation < latestObservation);
}
