import type { ListMemory, PageFacts } from './list-memory.ts';

/** The outside of a pass over a list: the service behind `read`, the ledger behind `prepare` and `ranks`. */
export type ListPort = {
  /**
   * Reads one page. Pages up to `upTo` are going to be asked for next and may be fetched ahead. `isFresh`: what
   * was fetched ahead is thrown away, the request is sent only now. A page that the service refuses or answers with
   * another one because the list ends before it comes back empty.
   */
  read(page: number, upTo: number, isFresh?: boolean): Promise<PageFacts>;
  /**
   * Makes the pages' rows and the memory, as they are now, ready to be written. The write commits the memory with the
   * rows or after them, never before, and returns new rows and the ledger's count after it; it is begun when the one
   * before it has ended.
   */
  prepare(
    pages: PageFacts[],
    memory: ListMemory,
  ): () => Promise<{ inserted: number; ledgerCount: number }>;
  /** The ledger's rows by their time; null where the list has no times. */
  ranks: Ranks | null;
  /** Whether so many rows that wait to be stored are to be stored now. */
  isBatchFull(rows: number): boolean;
  /** Whether a long walk is to stop at its next checkpoint and go on in a later pass. */
  shouldPause(): boolean;
};

/** A stretch of time, Unix ms, both ends excluded; null: without end. */
export type Span = { after: number | null; before: number | null };

export type Ranks = {
  /** Listed rows in the ledger that are not younger than `time` (Unix ms). */
  countUntil(time: number): Promise<number>;
  /** Keys of rows that the ledger takes as listed within the span and that none of the pages shows. */
  unmet(pages: PageFacts[], span: Span): Promise<string[]>;
  /** Marks rows as no longer listed, in one transaction with the memory; returns the ledger's count after it. */
  unlist(keys: string[], memory: ListMemory): Promise<number>;
};

/** A pass's hands: reads and stores through the port and keeps the memory true. */
export type ListReader = {
  memory: ListMemory;
  port: ListPort;
  read(page: number, upTo?: number, isFresh?: boolean): Promise<PageFacts>;
  /** Stores at once; returns the number of new rows. */
  store(pages: PageFacts[]): Promise<number>;
  /** Stores when the write is called, what there was to store before; returns the number of new rows. */
  prepare(pages: PageFacts[]): () => Promise<number>;
  /** Marks rows as no longer listed. */
  unlist(keys: string[]): Promise<void>;
};
