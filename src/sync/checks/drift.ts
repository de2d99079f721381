import type { Comparison } from '../../ledger/lists/verify-store.ts';

/** Differences of one list or snapshot from the service's, and what its comparison could not show. */
export type Drift = Comparison & {
  name: string;
  compared: number;
  extra: string[];
  /** Rows of the ledger that no scan met, because none was whole: whether the service lists them is unknown. */
  unmet: string[];
  /** Rows that the service counts and did not show: missing ones, or a wrong total. They are no drift by themselves. */
  unshown: number;
  /** Rows that equal the service's after the repair. */
  repaired: number;
  /** Listed rows that the ledger cannot store, so that it lacks them; the rejects show them. */
  unstorable: number;
  /** Rows that arrived during the comparison, by the service's total; those that are missing are no drift. */
  arrivals: number;
  /** The service refused the page where the list may end: rows behind it were not compared, if there are any. */
  isEndRefused: boolean;
};

export function emptyDrift(name: string): Drift {
  return {
    name,
    compared: 0,
    missing: [],
    different: [],
    extra: [],
    unmet: [],
    unshown: 0,
    repaired: 0,
    unstorable: 0,
    arrivals: 0,
    isEndRefused: false,
  };
}

/** Counts the rows that do not match the service, or that could not be compared. */
export function driftCount({ missing, different, extra, unmet, unstorable }: Drift): number {
  return missing.length + different.length + extra.length + unmet.length + unstorable;
}

/** Counts the rows that do not match the service after the repair. */
export function leftCount(drift: Drift): number {
  return driftCount(drift) - drift.repaired;
}
