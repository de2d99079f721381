import type { ListState, PageFacts } from './list-state.ts';
import type { ReadDays } from './read-days.ts';

/** What a write leaves: new rows, the ledger's counts, and days whose rows differ from what was read of them. */
export type Stored = {
  inserted: number;
  ledgerCount: number;
  /** Rows that this list shows and the ledger counts in another one. */
  guests: number;
  differingDays: number[];
};

/** What a write finds in the ledger before it commits. */
export type Found = Pick<Stored, 'inserted' | 'differingDays'>;

/** Decides on the state to commit; asked once for each try of a write. */
export type AfterFinding = (found: Found) => ListState;

/** Pages whose rows are to be stored, and the days that they complete. `isGlance`: days are marked, not accused. */
export type Batch<P> = { pages: P[]; days: ReadDays | null; isGlance?: boolean };

/**
 * The outside of a pass over a list: the service behind `read`, the ledger behind the rest. `P` is a page with its
 * rows.
 */
export type ListPort<P extends PageFacts> = {
  /**
   * Reads one page. Pages up to `upTo` are going to be asked for next and may be fetched ahead. `isFresh`: what
   * was fetched ahead is thrown away, the request is sent only now. A page beyond `upTo` that the service refuses or
   * answers with another one comes back empty: the list ends before it.
   */
  read(page: number, upTo: number, isFresh?: boolean): Promise<P>;
  /**
   * Prepares the write of the pages' rows, read up to this state. The write commits the rows together with the state
   * that follows from what it finds; it is begun when the one before it has ended.
   */
  prepare(batch: Batch<P>, state: ListState): (afterFinding: AfterFinding) => Promise<Stored>;
  /** The ledger's rows by their time; null where the list has no times. */
  ranks: Ranks<P> | null;
  /** The keys that a scan has met, noted in the database (`WalkProgress.notesKeys`). */
  notes: ScanNotes;
  /**
   * Marks rows as no longer listed here, in one transaction with the state. Null for a list whose rows are never given
   * up.
   */
  unlist: ((keys: string[], state: ListState) => Promise<Stored>) | null;
  /** So many rows that wait to be stored are to be stored now. */
  isBatchFull(rows: number): boolean;
  /** A long scan is to stop at its next checkpoint and go on in a later pass. */
  shouldPause(): boolean;
  /** Unix ms. */
  now(): number;
  wait(ms: number): Promise<void>;
};

/** A stretch of time, Unix ms, both ends excluded; null: without end. */
export type Span = { after: number | null; before: number | null };

export type Ranks<P extends PageFacts> = {
  /** Listed rows in the ledger that are not younger than `time` (Unix ms). */
  countUntil(time: number): Promise<number>;
  /** Keys of rows that the ledger lists within the span and that none of the pages shows. */
  listedButNotSeen(pages: P[], span: Span): Promise<string[]>;
  /** Keys of up to `limit` rows that the ledger lists without a time. */
  undated(limit: number): Promise<string[]>;
  /** Listed rows per UTC day (days since 1970), and when each was last verified (Unix ms); null: never. */
  days(): Promise<{ day: number; rows: number; verifiedAt: number | null }[]>;
};

export type ScanNotes = {
  /** Forgets the keys of the scan before. */
  begin(): Promise<void>;
  /** Different keys noted. */
  count(): Promise<number>;
  /** Keys of up to `limit` rows that the ledger lists and the scan has not met. */
  unseen(limit: number): Promise<string[]>;
  /** Ends the conflict of rows that the ledger counts in another list and the scan has not met here. */
  dropUnseenGuests(state: ListState): Promise<Stored>;
  /** Marks all days of the list as verified: the scan met just the rows that the ledger lists. */
  verifyAll(state: ListState): Promise<Stored>;
};
