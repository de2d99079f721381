import type { Clock } from '../kernel/clock.ts';
import type { ListOrder } from '../kernel/list-order.ts';
import type { Log } from '../kernel/log.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import type { WalletClient } from '../service/wallet-client.ts';

/** What everything in this room works with. */
export type SyncContext = {
  ledger: Ledger;
  client: WalletClient;
  log: Log;
  clock: Clock;
  settings: SyncSettings;
  /** Told of each pass that ended well. */
  onRun?: (part: string, report: SyncReport) => void;
};

export type SyncSettings = {
  /** Items per page to ask for. */
  pageSize: number;
  /** null: learn it. */
  listOrder: ListOrder | null;
  /** Requests in flight at most. */
  concurrency: number;
  /** Part of the history that one run of the audit reads again, 0 to 1. */
  auditShare: number;
  /** Within this time the audit has read the whole history again. */
  auditCycleMs: number;
  /** Pauses before a mismatch is looked at again, for tests; those of the effort where absent. */
  looksMs?: readonly number[];
  /** slip44 codes of the chains whose addresses are kept. */
  chains: number[];
  /** How address requests are bounded, and how long after a lost answer its list is believed. */
  pools: { settleMs: number; maxPerDay: number };
  /** The name of the query parameter for the chain. */
  chainParam: string;
  /** After the database has moved: go on with new addresses (the default), or hand none out until `recover`. */
  onMove?: 'heal' | 'stop';
  /** Nobody else generates addresses with this key. */
  isPoolExclusive?: boolean;
};

/** What a pass did, for `sync_runs`, progress and exit codes. */
export type SyncReport = {
  rowsSeen: number;
  rowsInserted: number;
  rowsUpdated: number;
  /** false: something that the service has is not in the ledger. */
  isComplete: boolean;
};

export function emptyReport(): SyncReport {
  return { rowsSeen: 0, rowsInserted: 0, rowsUpdated: 0, isComplete: true };
}

/** Adds what another part has done; whether all of it is complete is the caller's to say. */
export function addCounts(sum: SyncReport, part: Omit<SyncReport, 'isComplete'>): void {
  sum.rowsSeen += part.rowsSeen;
  sum.rowsInserted += part.rowsInserted;
  sum.rowsUpdated += part.rowsUpdated;
}

/**
 * Told while a pass goes on; totals are the best that is known, null while nothing is. `pages`: of its list, in this
 * pass; left out by a part that has none.
 */
export type Progress = (part: string, done: number, total: number | null, pages?: number) => void;
