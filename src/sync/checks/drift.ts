import type { Comparison } from '../../ledger/lists/verify-store.ts';
import type { RowDifference, UnreadableFields } from '../../ledger/row-difference.ts';

/** Differences of one list or snapshot from the service's, and what its comparison could not show. */
export type Drift = Comparison & {
  name: string;
  compared: number;
  extra: string[];
  /** Balances that differ and may have moved since the ledger read them; no drift, and not judged. */
  moved: RowDifference[];
  /** Rows of the ledger that no scan met. No scan was complete, so it is unknown if the service lists them. */
  unmet: string[];
  /** Rows that the service counts and did not show: missing ones, or a wrong total. */
  unshown: number;
  /** Part of `unshown` that no clean scan has accepted as a wrong total. */
  unaccepted: number;
  /** Rows that the ledger lacks and only page 0 shows: the service seems to number its pages from 0. */
  onPageZero: number;
  /** Rows that equal the service's after the repair. */
  repaired: number;
  /** Listed rows that the ledger cannot store, so that it lacks them; the rejects show them. */
  unstorable: number;
  /** Rows with fields that could not be read although the ledger holds a value; the rejects show them. */
  unreadable: UnreadableFields[];
  /** Rows that arrived during the comparison, by the service's total; those that are missing are no drift. */
  arrivals: number;
  /** The service refused the page where the list may end: rows after it were not compared, if there are any. */
  isEndRefused: boolean;
};

export function emptyDrift(name: string): Drift {
  return {
    name,
    compared: 0,
    missing: [],
    different: [],
    moved: [],
    extra: [],
    unmet: [],
    unshown: 0,
    unaccepted: 0,
    onPageZero: 0,
    repaired: 0,
    unstorable: 0,
    unreadable: [],
    arrivals: 0,
    isEndRefused: false,
  };
}

/** Counts the rows that do not match the service, or that could not be compared. */
export function driftCount(drift: Drift): number {
  const { missing, different, extra } = drift;
  return missing.length + different.length + extra.length + unrepairableCount(drift);
}

/** Counts the rows that no repair can make equal, because the service did not show them, or not readably. */
export function unrepairableCount({ unmet, unstorable, unreadable, onPageZero }: Drift): number {
  return unmet.length + unstorable + unreadable.length + onPageZero;
}

/** Counts the rows that do not match the service after the repair. */
export function leftCount(drift: Drift): number {
  return driftCount(drift) - drift.repaired;
}

/** Returns true if ledger and service differ after the repair, or if the service may have rows that it did not show. */
export function isUnequal(drift: Drift): boolean {
  return leftCount(drift) > 0 || drift.isEndRefused || drift.unaccepted > 0;
}
