import { z } from 'zod';
import { readingSchema } from './read-days.ts';

/** The stored form changes only together with this number; a checkpoint of another version is begun anew. */
const version = 4;

const int = z.number().int();

const walkSchema = z.object({
  nextPage: int,
  /** Size of the grid that nextPage counts in; null before the first page. */
  pageSize: int.nullable(),
  /** The service's total when the scan began, and at the last page read. */
  startTotal: int.nullable(),
  lastTotal: int.nullable(),
  /** The checkpoint's `fallen` as of the last page read: what it has grown by since then, any request has seen. */
  fallenSeen: int,
  /** One page after another: the only kind that needs no trust in the totals. */
  isSequential: z.boolean(),
  /** Neighbours with rising and with falling times, met so far. */
  rising: int,
  falling: int,
  /** Rows met, those that were met twice included, and listed rows that could not be stored at all. */
  met: int,
  unstorable: int,
  rewinds: int,
  /** The last page was full, so the list may go on whatever its total says. */
  isLastFull: z.boolean(),
  /** A page that was not full had rows behind it: it may have lacked some of its own. */
  hasShortPages: z.boolean(),
  /** Every seam between two pages was consistent so far. */
  isClean: z.boolean(),
  /** The total has risen, and has fallen, since the scan began. */
  hasRisen: z.boolean(),
  hasFallen: z.boolean(),
  /** The scan has gone back: the next page must show a row that was met before. */
  isBack: z.boolean(),
  /** All keys are noted in the database: for lists without an order, and rows that two lists show. */
  notesKeys: z.boolean(),
  /** A mismatch stood when the scan began: what it leaves of it, the list does not show. */
  hadMismatch: z.boolean(),
  /** Days differed when the scan began; it says anew which do. */
  hadDifferingDays: z.boolean(),
  /** The ledger listed no row when the scan began: all that it lists came from it. */
  isFromEmpty: z.boolean(),
  reading: readingSchema.nullable(),
  /** Keys of the rows without a readable time that were met. */
  undated: z.array(z.string()),
});

/**
 * A mismatch between the counts, and since when (Unix ms) it stands; `begun`: since when the counts have differed the
 * same way round at the end of each pass, whichever rows it was about.
 */
const mismatchSchema = z.object({
  total: int,
  count: int,
  since: int,
  begun: int,
  passes: int,
});

const checkpointSchema = z.object({
  version: z.literal(version),
  /** Page size to ask for, and when (Unix ms) it was lowered below the configured one; null: it is not. */
  requestedPageSize: int,
  sizeReducedAt: z.number().nullable(),
  /** The service's total when the counts last agreed (but for the accepted difference). */
  totalAtLastMatch: int,
  walk: walkSchema.nullable(),
  /** Full scans ended so far, and when (Unix ms) the last one did. */
  walks: int,
  scannedAt: z.number().nullable(),
  /** Where answers claim a page size that is not what they serve. */
  clampedSize: z.object({ claimed: int, actual: int }).nullable(),
  /** The two counts as the last pass left them. */
  lastSeen: z.object({ total: int.nullable(), count: int }).nullable(),
  mismatch: mismatchSchema.nullable(),
  /** By how many rows the total has fallen since the last clean scan, rows found to have vanished left out. */
  fallen: int,
  /**
   * `fallen` when the scan began, or the first of those that add up: a later fall is not explained by it. Null: no
   * total was known then, so that a fall would not have shown.
   */
  fallenBefore: int.nullable(),
  /** Answers that gave no total have brought rows, or reached beyond the known one: it is older than they. */
  isTotalOlder: z.boolean(),
  /** Days (since 1970) whose rows differ from what the list showed. */
  differingDays: z.array(int),
  /** The last repeated scan was not consistent. */
  isScanUnclean: z.boolean(),
  /** Rows that the last clean scan found on one side only: without a usable key, or listed no longer and kept. */
  unmatched: int,
  /** Rows that the ledger lists and the last scan over a list without an order did not meet. */
  unseen: z.array(z.string()),
  /** The list shows its rows in another order each time: scans add up until every row was met. */
  isShuffled: z.boolean(),
  /** Pages of the first full scan, and how often the last one had to go back. */
  scannedPages: int,
  scanRewinds: int,
  /** Requests that doubts have cost, and scans in a row that explained nothing. */
  spentRequests: int,
  fruitlessScans: int,
  /** The first page as the last pass saw it, where the service gives no total. */
  headFingerprint: z.string().nullable(),
  /** Page at which the audit of a list without an order goes on. */
  auditPage: int,
});

/** An unfinished full scan, from page 1 upward. */
export type WalkProgress = Readonly<z.infer<typeof walkSchema>>;

/** What a pass leaves for the next one in `streams.checkpoint`. */
export type Checkpoint = Readonly<z.infer<typeof checkpointSchema>>;

export function newCheckpoint(requestedPageSize: number): Checkpoint {
  return {
    version,
    requestedPageSize,
    sizeReducedAt: null,
    totalAtLastMatch: 0,
    walk: null,
    walks: 0,
    scannedAt: null,
    clampedSize: null,
    lastSeen: null,
    mismatch: null,
    fallen: 0,
    fallenBefore: null,
    isTotalOlder: false,
    differingDays: [],
    isScanUnclean: false,
    unmatched: 0,
    unseen: [],
    isShuffled: false,
    scannedPages: 0,
    scanRewinds: 0,
    spentRequests: 0,
    fruitlessScans: 0,
    headFingerprint: null,
    auditPage: 1,
  };
}

/** Parses what is stored; null for what is absent, of another version or damaged: nothing but requests is lost. */
export function parseCheckpoint(stored: unknown): Checkpoint | null {
  const parsed = checkpointSchema.safeParse(stored);
  return parsed.success ? parsed.data : null;
}

export function newWalk(
  kind: Pick<
    WalkProgress,
    'isSequential' | 'notesKeys' | 'isFromEmpty' | 'hadMismatch' | 'hadDifferingDays' | 'fallenSeen'
  >,
): WalkProgress {
  return {
    ...kind,
    nextPage: 1,
    pageSize: null,
    startTotal: null,
    lastTotal: null,
    rising: 0,
    falling: 0,
    met: 0,
    unstorable: 0,
    rewinds: 0,
    isLastFull: true,
    hasShortPages: false,
    isClean: true,
    hasRisen: false,
    hasFallen: false,
    isBack: false,
    reading: null,
    undated: [],
  };
}
