import { z } from 'zod';

/** The stored form changes only together with this number; a checkpoint of another version is begun anew. */
const version = 2;

const count = z.number().int();

const walkSchema = z.object({
  nextPage: count,
  /** Size of the grid that nextPage counts in; null before the first page. */
  pageSize: count.nullable(),
  /** The service's total when the walk began, and at the last page read. */
  startTotal: count.nullable(),
  lastTotal: count.nullable(),
  /** One page after another: the only kind that needs no trust in the totals. */
  isSequential: z.boolean(),
  /** Neighbours with rising and with falling times, met so far. */
  rising: count,
  falling: count,
  /** Listed rows that could not be stored at all. */
  unstorable: count,
  rewinds: count,
});

const checkpointSchema = z.object({
  version: z.literal(version),
  /** Page size to ask for, halved whenever the service refuses it. */
  requestedPageSize: count,
  /** The service's total when the counts last agreed (but for the accepted difference). */
  totalAtLastMatch: count,
  walk: walkSchema.nullable(),
  /** Full scans ended so far. */
  walks: count,
  /** Where answers claim a page size that is not what they serve. */
  clampedSize: z.object({ claimed: count, actual: count }).nullable(),
  /** A mismatch that no page explained: the two counts, and for how many passes it has been unchanged. */
  countMismatch: z.object({ total: count.nullable(), count, passes: count }).nullable(),
  /** Page at which the audit goes on. */
  auditPage: count,
  /** Rows that the ledger held beyond the service's count when the audit last looked into it. */
  auditedSurplus: count,
});

/** An unfinished full scan, from page 1 upward. */
export type WalkProgress = Readonly<z.infer<typeof walkSchema>>;

/** What a pass leaves for the next one in `streams.checkpoint`. */
export type Checkpoint = Readonly<z.infer<typeof checkpointSchema>>;

export function newCheckpoint(requestedPageSize: number): Checkpoint {
  return {
    version,
    requestedPageSize,
    totalAtLastMatch: 0,
    walk: null,
    walks: 0,
    clampedSize: null,
    countMismatch: null,
    auditPage: 1,
    auditedSurplus: 0,
  };
}

/** Parses what is stored; null for what is absent, of another version or damaged: nothing but requests is lost. */
export function parseCheckpoint(stored: unknown): Checkpoint | null {
  const parsed = checkpointSchema.safeParse(stored);
  return parsed.success ? parsed.data : null;
}

export function newWalk(isSequential: boolean): WalkProgress {
  return {
    nextPage: 1,
    pageSize: null,
    startTotal: null,
    lastTotal: null,
    isSequential,
    rising: 0,
    falling: 0,
    unstorable: 0,
    rewinds: 0,
  };
}
