import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { beginSightings, countMet, countSightings } from '../../ledger/lists/verify-store.ts';
import type { PagesScan } from './scan-pages.ts';

/**
 * Bounds of the number of scans. A scan is repeated if it met fewer rows than the service counts, and so is the first
 * one that found an extra row. Beyond the first bound a scan is repeated only if it met rows for the first time: rows
 * of the same time may come in another order with each answer, so that each scan misses others.
 */
const scansBound = { asARule: 4, whileMeetingMore: 16 };

export type RepeatedScans = {
  /** The last scan. */
  scan: PagesScan;
  /** Number of rows that the last scan met. If no scan met all rows: that any scan met. */
  compared: number;
  /** Rows of the ledger that two complete scans have not met. */
  extra: string[];
  /** Further rows of the ledger that no scan has met; it is unknown if the service lists them. */
  unmet: string[];
  /** Rows that the service counts and has shown to no scan, by the lowest total of all scans. */
  unshown: number;
  /**
   * The list was read to its end. Either the last two scans have not met the same rows of the ledger, or all scans
   * together have met each row of the ledger and as many as the service counted throughout.
   */
  isRead: boolean;
};

/** Pause in which a list catches up with a total that runs ahead of it. */
const pauseMs = 2_000;

/**
 * Scans a list until one scan has met every row, or further ones cannot help. `unmet` returns the rows of the ledger
 * that the last scan, or any scan, has not met.
 */
export async function repeatScans(
  db: LedgerDb,
  { read, unmet, signal }: { read: () => Promise<PagesScan>; unmet: Unmet; signal: AbortSignal },
): Promise<RepeatedScans> {
  const doubtful: Doubtful = { extra: [], notMetBefore: new Set() };
  const totals = new Set<number | null>();
  let metBefore = 0;
  let expected = Number.POSITIVE_INFINITY;
  for (let scans = 1; ; scans += 1) {
    await beginSightings(db);
    const scan = await read();
    const compared = await countSightings(db);
    totals.add(scan.state.serviceTotal);
    expected = Math.min(expected, scan.expected);
    const isWhole = compared >= scan.expected && scan.walk.isClean;
    if (isWhole && (await isSettled(doubtful, unmet)))
      return { scan, compared, extra: doubtful.extra, unmet: [], unshown: 0, isRead: true };
    const met = await countMet(db);
    const hasMetMore = met > metBefore;
    metBefore = met;
    if (scans < scansBound.asARule) {
      await catchUp(scans, expected - met, signal);
      continue;
    }
    const isExtra = isIn(new Set(doubtful.extra));
    const never = (await unmet('any')).filter((key) => !isExtra(key));
    const mayHelp = hasMetMore && lacks(never, met, scan) && scans < scansBound.whileMeetingMore;
    if (mayHelp) continue;
    const unshown = Math.max(0, expected - met);
    const isRead = never.length === 0 && totals.size === 1 && totals.has(met);
    return { scan, compared: met, extra: doubtful.extra, unmet: never, unshown, isRead };
  }
}

/** Waits once if the scans so far lack rows that the service counts, usually before the last scan. */
async function catchUp(scans: number, lacking: number, signal: AbortSignal): Promise<void> {
  const isBeforeLast = scans === scansBound.asARule - 1;
  if (isBeforeLast && lacking > 0) await abortableSleep(pauseMs, signal);
}

type Unmet = (by: 'the last' | 'any') => Promise<string[]>;

/** Rows of the ledger that complete scans have not met. `extra`: not met by two; `notMetBefore`: by the last. */
type Doubtful = { extra: string[]; notMetBefore: Set<string> };

/** Notes which rows a whole scan has not met. Returns true if each of them is extra: two scans have not met it. */
async function isSettled(doubtful: Doubtful, unmet: Unmet): Promise<boolean> {
  const notMet = await unmet('the last');
  doubtful.extra = notMet.filter(isIn(doubtful.notMetBefore));
  doubtful.notMetBefore = new Set(notMet);
  return notMet.length === doubtful.extra.length;
}

const isIn = (keys: Set<string>) => (key: string) => keys.has(key);

/** Returns true if rows of the ledger, or of those that the service counts, have not been met. */
function lacks(never: string[], met: number, { expected }: PagesScan): boolean {
  return never.length > 0 || met < expected;
}
