import { z } from 'zod';
import { readingSchema } from './read-days.ts';

/**
 * Version of the stored form. Adding a field, or changing the meaning of one, requires a new number. Removing a field
 * does not, because unknown fields are ignored; nor does adding an optional one. A checkpoint of another version is
 * discarded.
 */
const version = 4;

const int = z.number().int();

const walkSchema = z.object({
  nextPage: int,
  /** Page size that nextPage counts in; null before the first page. */
  pageSize: int.nullable(),
  /** Service's total when the scan began, and at the last page read. */
  startTotal: int.nullable(),
  lastTotal: int.nullable(),
  /** `fallen` of the checkpoint at the last page read. Any request may have seen its increase since then. */
  fallenSeen: int,
  /** Pages are read strictly one after another. Only this kind of scan does not depend on the totals. */
  isSequential: z.boolean(),
  /** Adjacent rows with rising and with falling times, met so far. */
  rising: int,
  falling: int,
  /** Rows met, repeated ones included; and listed rows that could not be stored at all. */
  met: int,
  unstorable: int,
  rewinds: int,
  /** The last page was full, so the list may continue even if the total says otherwise. */
  isLastFull: z.boolean(),
  /** A page that was not full had rows after it: it may have lacked some of its own. */
  hasShortPages: z.boolean(),
  /** Every boundary between two pages was consistent so far. */
  isClean: z.boolean(),
  /** The scan has gone back: the next page must show a row that was met before. */
  isBack: z.boolean(),
  /**
   * All keys are noted in the database: for lists without an order, for guests, and after a reading by days has failed.
   */
  notesKeys: z.boolean(),
  /**
   * A mismatch persisted when the scan began. If the scan is clean, the list does not show the rest of the mismatch.
   */
  hadMismatch: z.boolean(),
  /** Days differed when the scan began; the scan determines the differing days again. */
  hadDifferingDays: z.boolean(),
  /** The ledger listed no row when the scan began: all rows that it lists came from the scan. */
  isFromEmpty: z.boolean(),
  reading: readingSchema.nullable(),
  /** Keys of the rows without a readable time that were met. */
  undated: z.array(z.string()),
  /** Days (since 1970) of the rows that could not be stored; absent: none. */
  unstored: z.array(int).optional(),
});

/**
 * A mismatch between the counts. `since`: time (Unix ms) since which these rows have differed. `begun`: time since
 * which the counts have differed in the same direction at the end of each pass, whichever rows it was about.
 */
const mismatchSchema = z.object({
  total: int,
  count: int,
  since: int,
  begun: int,
  passes: int,
  /** The present rows were searched without success; absent: they were not searched. */
  isSearched: z.boolean().optional(),
});

const checkpointSchema = z.object({
  version: z.literal(version),
  /**
   * Page size to request, and when (Unix ms) the service last refused a larger one; null: the configured size is in
   * use.
   */
  requestedPageSize: int,
  sizeReducedAt: z.number().nullable(),
  /** Service's total when the counts last agreed, apart from the accepted difference. */
  totalAtLastMatch: int,
  walk: walkSchema.nullable(),
  /** Full scans ended so far, and when (Unix ms) the last one ended. */
  walks: int,
  scannedAt: z.number().nullable(),
  /** Page size that answers claim, and the number of rows that they really contain; null: no clamp is known. */
  clampedSize: z.object({ claimed: int, actual: int }).nullable(),
  /** Total that the last reading of the growing end saw, and the ledger's count at the end of that pass. */
  lastSeen: z.object({ total: int.nullable(), count: int }).nullable(),
  mismatch: mismatchSchema.nullable(),
  /** Time (Unix ms) from which passes have found rows that another list shows as well; null: there were none. */
  conflictSince: z.number().nullable().default(null),
  /** Rows by which the total has fallen since the last clean scan, without the rows found to have vanished. */
  fallen: int,
  /**
   * Value of `fallen` when the scan began, or the first of the accumulated scans: they explain no later fall of the
   * total. Null: no total was known then, so a fall would not have been noticed.
   */
  fallenBefore: int.nullable(),
  /** The total does not count all rows: a page went beyond it, or answers without a total have brought rows since. */
  isTotalOlder: z.boolean(),
  /** Time (Unix ms) since which passes have ended with such a total; null: the last one did not. */
  totalOlderSince: z.number().nullable().default(null),
  /** Days (since 1970) whose rows differ from those that the list showed. */
  differingDays: z.array(int),
  /** The last full scan proves nothing: it was not clean, or it began without a total. */
  isScanUnclean: z.boolean(),
  /** The last full scan ended at a refused page, and nothing has shown that the list ends there; absent: it did not. */
  isEndUnproven: z.boolean().optional(),
  /** Rows that the last clean scan found on one side only: without a usable key, or no longer listed and kept. */
  unmatched: int,
  /** Rows that the ledger lists and the last scan with noted keys did not meet, nor any page since. */
  unseen: z.array(z.string()),
  /** The list shows its rows in another order each time: scans accumulate until every row was met. */
  isShuffled: z.boolean(),
  /** Pages of the first full scan, and how often the last one had to go back. */
  scannedPages: int,
  scanRewinds: int,
  /**
   * Requests that doubts have cost; and scans in a row that explained nothing, where the scans of one pass count as
   * one.
   */
  spentRequests: int,
  fruitlessScans: int,
  /** Fingerprint of the first page in the last pass, if the service reports no total. */
  headFingerprint: z.string().nullable(),
  /** Page at which the audit of a list without an order continues. */
  auditPage: int,
});

/** Progress of an unfinished full scan, from page 1 upward. */
export type WalkProgress = Readonly<z.infer<typeof walkSchema>>;

/** State that a pass leaves for the next one in `streams.checkpoint`. */
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
    conflictSince: null,
    fallen: 0,
    fallenBefore: null,
    isTotalOlder: false,
    totalOlderSince: null,
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

/**
 * Parses a stored checkpoint. Returns null if it is absent, damaged or of another version. What was in doubt is then
 * unknown: a full scan has to back the counts again.
 */
export function parseCheckpoint(stored: unknown): Checkpoint | null {
  const parsed = checkpointSchema.safeParse(stored);
  return parsed.success ? parsed.data : null;
}

/** Returns true if a scan of the list has ended, a clean one or not. */
export function hasEndedScan({ walks }: Checkpoint): boolean {
  return walks > 0;
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
    isBack: false,
    reading: null,
    undated: [],
  };
}
