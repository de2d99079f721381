import { hash } from 'node:crypto';
import type { Page } from '../../kernel/wallet-records.ts';
import type { Anchor, BadRow, ReadPart } from './assemble-page.ts';

/** A page that had to be divided, and one of its rows, which shows a later pass that nothing has moved. */
export type DividedPage<T> = {
  content: Page<T>;
  anchor: Anchor;
  read: ReadPart<T>[];
  bad: BadRow[];
};

/**
 * Unreadable rows of a list as found by earlier passes. Without it each pass over an unchanged list would divide the
 * same page again.
 */
export type DivisionMemory<T> = {
  recall(page: number, size: number): DividedPage<T> | undefined;
  remember(page: number, size: number, divided: DividedPage<T>): void;
  /**
   * Replaces a page that `recall` returned after new rows have moved it; kept no longer than the page that it replaces.
   */
  move(page: number, size: number, divided: DividedPage<T>): void;
  /** Returns true if the row with this text was requested several times and stayed unreadable. */
  isConfirmed(rowText: string): boolean;
  confirm(rowText: string): void;
  /** Returns true if the last passes all failed. Then one request is enough to find out that nothing has changed. */
  isFailing(): boolean;
  /** Records that a page could not be read in any size or part. */
  noteFailure(): void;
  /** Records that the service answered a page: earlier failures no longer count. */
  noteAnswer(): void;
  /** Records that the text does not belong to one row: a row that was answered with it was readable afterwards. */
  refute(rowText: string): void;
};

/**
 * Time after which a divided page is read again, to find changes within a page without a new row. After a failure the
 * next one is examined again after the same time.
 */
const keptMs = 600_000;
/** Upper bound of the divided pages: the list's first page, and a few that a full scan met. */
const pagesMax = 4;
const rowsMax = 1_000;
/** Failures in a row after which a pass stops at the first failed request. */
const failuresMax = 2;

export function createDivisionMemory<T>(): DivisionMemory<T> {
  const pages = new Map<string, DividedPage<T> & { until: number }>();
  const rows = new Set<string>();
  const refuted = new Set<string>();
  let failures = 0;
  let failingUntil = 0;
  return {
    isFailing: () => failures >= failuresMax && failingUntil > performance.now(),
    noteFailure() {
      failures += 1;
      failingUntil = performance.now() + keptMs;
    },
    noteAnswer() {
      failures = 0;
    },
    recall(page, size) {
      const known = pages.get(`${page}/${size}`);
      return known && known.until > performance.now() ? known : undefined;
    },
    remember(page, size, divided) {
      dropOldest(pages, pagesMax);
      pages.set(`${page}/${size}`, { ...divided, until: performance.now() + keptMs });
    },
    move(page, size, divided) {
      const known = pages.get(`${page}/${size}`);
      if (known) pages.set(`${page}/${size}`, { ...divided, until: known.until });
    },
    isConfirmed: (rowText) => rows.has(hash('sha1', rowText)),
    confirm(rowText) {
      const text = hash('sha1', rowText);
      if (refuted.has(text)) return;
      dropOldest(rows, rowsMax);
      rows.add(text);
    },
    refute(rowText) {
      const text = hash('sha1', rowText);
      rows.delete(text);
      dropOldest(refuted, rowsMax);
      refuted.add(text);
    },
  };
}

function dropOldest(kept: Map<string, unknown> | Set<string>, max: number): void {
  const [oldest] = kept.keys();
  if (kept.size >= max && oldest !== undefined) kept.delete(oldest);
}

const memories = new WeakMap<object, Map<string, DivisionMemory<unknown>>>();

/**
 * Returns the memory of one list; it lives as long as `owner`. A list has one kind of row, so `T` is the same in each
 * call.
 */
export function divisionMemoryOf<T>(owner: object, list: string): DivisionMemory<T> {
  const ofOwner = memories.get(owner) ?? new Map<string, DivisionMemory<unknown>>();
  memories.set(owner, ofOwner);
  const memory = ofOwner.get(list) ?? createDivisionMemory<unknown>();
  ofOwner.set(list, memory);
  return memory as DivisionMemory<T>;
}
