import type { ListState, PageFacts } from './list-state.ts';

/**
 * The outside of a pass over a list: the service behind `read`, the ledger behind `prepare` and `ranks`. `P` is a page
 * with its rows.
 */
export type ListPort<P extends PageFacts> = {
  /**
   * Reads one page. Pages up to `upTo` are going to be asked for next and may be fetched ahead. `isFresh`: what
   * was fetched ahead is thrown away, the request is sent only now. A page that the service refuses or answers with
   * another one because the list ends before it comes back empty.
   */
  read(page: number, upTo: number, isFresh?: boolean): Promise<P>;
  /**
   * Prepares the write of the pages' rows and of the state. The write commits the state with the rows and returns new
   * rows and the ledger's count after it; it is begun when the one before it has ended.
   */
  prepare(pages: P[], state: ListState): () => Promise<{ inserted: number; ledgerCount: number }>;
  /** The ledger's rows by their time; null where the list has no times. */
  ranks: Ranks<P> | null;
  /** So many rows that wait to be stored are to be stored now. */
  isBatchFull(rows: number): boolean;
  /** A long walk is to stop at its next checkpoint and go on in a later pass. */
  shouldPause(): boolean;
};

/** A stretch of time, Unix ms, both ends excluded; null: without end. */
export type Span = { after: number | null; before: number | null };

export type Ranks<P extends PageFacts> = {
  /** Listed rows in the ledger that are not younger than `time` (Unix ms). */
  countUntil(time: number): Promise<number>;
  /** Keys of rows that the ledger lists within the span and that none of the pages shows. */
  listedButNotSeen(pages: P[], span: Span): Promise<string[]>;
  /** Marks rows as no longer listed, in one transaction with the state; returns the ledger's count after it. */
  unlist(keys: string[], state: ListState): Promise<number>;
};
