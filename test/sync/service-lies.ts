import type { SeededRandom } from '../support/seeded-random.ts';
import type { Row, ServiceList, Version } from './service-list.ts';

/** Ways in which the service counts its rows. */
export type TotalLie =
  | { kind: 'honest' }
  /** The count of some time ago. */
  | { kind: 'lags'; ms: number }
  /** Counts rows some time before the list shows them. */
  | { kind: 'runs-ahead'; ms: number }
  /** Counted once within that time. */
  | { kind: 'cached'; ms: number }
  | { kind: 'capped'; rows: number }
  | { kind: 'absent' }
  | { kind: 'sometimes-absent'; share: number }
  /** Counts only the rows of the current page. */
  | { kind: 'page' }
  | { kind: 'constant'; rows: number }
  /** Off by a constant number of rows. */
  | { kind: 'off'; rows: number }
  /** Off by up to this number of rows in either direction, different in each answer. */
  | { kind: 'jitters'; rows: number };

/** Faults of a service's answers. */
export type Lies = {
  total: TotalLie;
  /** A second replica that lags, and its share of the answers. */
  replica: { ms: number; share: number } | null;
  /** Share of the pages that lack one of their rows, or show one without a usable key. */
  shortShare: number;
  spoiltShare: number;
  /** An old row is shown once more this number of rows further down, and the total counts it again; 0: none. */
  shownAgain: number;
};

export const noLies: Lies = {
  total: { kind: 'honest' },
  replica: null,
  shortShare: 0,
  spoiltShare: 0,
  shownAgain: 0,
};

/** States of the list that an answer shows and counts. */
export type Sight = { shown: Version; counted: Version };

/** Returns the states of the list for one answer, which is created at the time `now`. */
export function sightOf(list: ServiceList, lies: Lies, now: number, luck: SeededRandom): Sight {
  const { replica, total } = lies;
  const time = replica && luck.chance(replica.share) ? now - replica.ms : now;
  if (total.kind === 'lags') return { shown: list.asOf(time), counted: list.asOf(time - total.ms) };
  if (total.kind === 'runs-ahead')
    return { shown: list.asOf(time - total.ms), counted: list.asOf(time) };
  if (total.kind === 'cached')
    return { shown: list.asOf(time), counted: list.asOf(time - (time % total.ms)) };
  const version = list.asOf(time);
  return { shown: version, counted: version };
}

/** `length`: number of rows that the service counts. */
export function toldTotal(
  total: TotalLie,
  length: number,
  pageRows: number,
  luck: SeededRandom,
): number | null {
  if (total.kind === 'absent') return null;
  if (total.kind === 'sometimes-absent') return luck.chance(total.share) ? null : length;
  if (total.kind === 'capped') return Math.min(length, total.rows);
  if (total.kind === 'page') return pageRows;
  if (total.kind === 'constant') return total.rows;
  if (total.kind === 'jitters')
    return Math.max(0, length - total.rows + luck.below(2 * total.rows + 1));
  return total.kind === 'off' ? Math.max(0, length + total.rows) : length;
}

/** The rows of a page as shown, those shown without a usable key, and the keys that it hides. */
export function spoil(
  rows: readonly Row[],
  { shortShare, spoiltShare }: Lies,
  luck: SeededRandom,
): { rows: readonly Row[]; unstorable: number; hidden: string[] } {
  if (rows.length === 0 || (shortShare === 0 && spoiltShare === 0))
    return { rows, unstorable: 0, hidden: [] };
  const isShort = luck.chance(shortShare);
  const isSpoilt = !isShort && luck.chance(spoiltShare);
  if (!isShort && !isSpoilt) return { rows, unstorable: 0, hidden: [] };
  const hidden = luck.below(rows.length);
  return {
    rows: rows.toSpliced(hidden, 1),
    unstorable: isSpoilt ? 1 : 0,
    hidden: [rows[hidden]?.key ?? ''],
  };
}

/** Returns the listing as the service shows it, with an old row once more. */
export function withShownAgain(listing: readonly Row[], { shownAgain }: Lies): readonly Row[] {
  const place = listing.length - 2 * shownAgain;
  const row = listing[place];
  return shownAgain === 0 || row === undefined
    ? listing
    : listing.toSpliced(place + shownAgain, 0, row);
}
