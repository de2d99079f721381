import type { ReadDays, ReportedTotal } from '../../kernel/vocabulary.ts';
import type { ListState, PageFacts } from './list-state.ts';

/** A full scan: the first one of a list, or a further one. */
export type Scan = 'first' | 'further';

/** Result of a write: new rows, the ledger's counts, and days whose rows differ from those that were read. */
export type Stored = {
  inserted: number;
  ledgerCount: number;
  /** Rows that this list shows and the ledger counts in the other list. */
  guests: number;
  /** Rows that both lists show, guests included. */
  conflicts: number;
  /** Total that another writer has stored since the pass last did. */
  totalBeside?: ReportedTotal | null;
  /** Null: the days were not compared, because the ledger counts rows of this list in the other list. */
  differingDays: number[] | null;
};

/** Findings of a write in the ledger before it commits. */
export type Found = Pick<Stored, 'inserted' | 'differingDays'>;

/** Decides on the state to commit; called once for each attempt of a write. */
export type AfterFinding = (found: Found) => ListState;

/**
 * Pages whose rows are to be stored, and the days that they complete. `isGlance`: matching days are verified, and
 * differing ones are not recorded.
 */
export type Batch<P> = { pages: P[]; days: ReadDays | null; isGlance?: boolean };

/**
 * Everything outside a pass over a list: the service behind `read`, the ledger behind the other methods. `P` is a page
 * with its rows.
 */
export type ListPort<P extends PageFacts> = {
  /**
   * Reads one page. Pages up to `upTo` are requested next and may be fetched ahead. `isFresh`: discards pages fetched
   * ahead and sends the request now. A page beyond `upTo` is empty if the service refuses it or returns another one:
   * the list ends before it.
   */
  read(page: number, upTo: number, isFresh?: boolean): Promise<P>;
  /** Reads one page of another size; null if the service refuses it. */
  readSized(page: number, size: number): Promise<P | null>;
  /**
   * Prepares the write of the pages' rows, read up to this state. The write commits the rows together with the state
   * that follows from its findings. It starts after the previous write has ended.
   */
  prepare(batch: Batch<P>, state: ListState): (afterFinding: AfterFinding) => Promise<Stored>;
  /** Queries by the time of the ledger's rows; null if the list has no times. */
  ranks: Ranks<P> | null;
  /** Keys that a scan has met, noted in the database (`WalkProgress.notesKeys`). */
  notes: ScanNotes;
  /** Marks rows as unlisted, in one transaction with the state. Null for a list that never marks rows as unlisted. */
  unlist: ((keys: string[], state: ListState) => Promise<Stored>) | null;
  /** Returns true if this number of waiting rows is enough for a write. */
  isBatchFull(rows: number): boolean;
  /** Returns true if a long scan should stop at its next checkpoint and continue in a later pass. */
  shouldPause(): boolean;
  /**
   * Begins a full scan, or ends it with null. Requests of a first scan yield to more urgent ones, those of a further
   * scan to all others; absent: scans have no lane of their own.
   */
  scanning?(scan: Scan | null): void;
  /** Current time, Unix ms. */
  now(): number;
  wait(ms: number): Promise<void>;
};

/** A stretch of time, Unix ms, both ends excluded; null: unbounded. */
export type Span = { after: number | null; before: number | null };

export type Ranks<P extends PageFacts> = {
  /** Counts the ledger's listed rows at or before `time` (Unix ms), and those without a time. */
  countUntil(time: number): Promise<number>;
  /** Returns the keys of rows that the ledger lists within the span and that none of the pages shows. */
  listedButNotSeen(pages: P[], span: Span): Promise<string[]>;
  /** Returns the keys of up to `limit` rows that the ledger lists without a time. */
  undated(limit: number): Promise<string[]>;
  /** Returns the listed rows per UTC day (days since 1970), and when each was last verified (Unix ms); null: never. */
  days(): Promise<{ day: number; rows: number; verifiedAt: number | null }[]>;
};

export type ScanNotes = {
  /** Deletes the keys of the previous scan. */
  begin(): Promise<void>;
  /** Counts the different keys noted. */
  count(): Promise<number>;
  /** Returns the keys of up to `limit` rows that the ledger lists and the scan has not met. */
  unseen(limit: number): Promise<string[]>;
  /** Ends the conflict of guests that the scan has not met in this list. */
  dropUnseenGuests(state: ListState): Promise<Stored>;
  /** Marks all days of the list as verified: the scan met exactly the rows that the ledger lists. */
  verifyAll(state: ListState): Promise<Stored>;
};
