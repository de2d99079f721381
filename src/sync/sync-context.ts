import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { ListOrder } from '../kernel/vocabulary.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import type { Standing } from '../ledger/read-standing.ts';
import type { Retention } from '../ledger/reports/sync-run-store.ts';
import type { WalletIdentity } from '../ledger/wallet-identity.ts';
import type { WalletClient } from '../service/wallet-client.ts';

/** Reads where the database is and whose it is, and rebuilds what a move may have lost, once for concurrent callers. */
export type SharedHome = {
  read(): Promise<Standing>;
  rebuild(): Promise<void>;
};

/** Dependencies that every file in `src/sync` shares. */
export type SyncContext = {
  ledger: Ledger;
  client: WalletClient;
  log: Log;
  clock: Clock;
  settings: SyncSettings;
  /** The wallet that the client's key opens; every pass and address request compares it. Absent: it is not compared. */
  identity?: WalletIdentity;
  /** The database's home, shared by all wallets of the process; absent: each pass checks it. */
  sharedHome?: SharedHome;
  /** Called after each pass that ended without an error. */
  onRun?: (part: string, report: SyncReport) => void;
  /** Called after this process has healed a move of the database: the pools of all wallets are empty. */
  onHealed?: () => void;
};

export type SyncSettings = {
  /** Items per page to request. */
  pageSize: number;
  /** Order of the transaction lists; null: learned from the pages. */
  listOrder: ListOrder | null;
  /** Upper bound of the requests in flight. */
  concurrency: number;
  /** Share of the history that one run of the audit reads again, 0 to 1. */
  auditShare: number;
  /** Time (ms) within which the audit reads the whole history again. */
  auditCycleMs: number;
  /** Length (ms) of a slice of a daemon's full scan. Each pass reads the list's start before it goes on. */
  scanSliceMs: number;
  /** Pauses (ms) before a mismatch is checked again, for tests; absent: the pauses of the effort. */
  looksMs?: readonly number[];
  retention: Retention;
  /** slip44 codes of the chains whose addresses the ledger keeps. */
  chains: number[];
  /**
   * Limits of address requests. `settleMs`: wait after a lost answer before the address list is read again and trusted.
   * `maxPerDay`: addresses generated per chain in 24 h.
   */
  pools: { settleMs: number; maxPerDay: number };
  /** Name of the query parameter for the chain. */
  chainParam: string;
  /**
   * Behaviour after the database has moved: continue with new addresses (the default), or hand out none until
   * `recover`.
   */
  onMove?: 'heal' | 'stop';
  /** This ledger is the only program that generates addresses with this key. */
  isPoolExclusive?: boolean;
};

/** Result of a pass, for `sync_runs`, progress and exit codes. */
export type SyncReport = {
  rowsSeen: number;
  rowsInserted: number;
  rowsUpdated: number;
  /** false: the service has something that the ledger lacks. */
  isComplete: boolean;
};

export function emptyReport(): SyncReport {
  return { rowsSeen: 0, rowsInserted: 0, rowsUpdated: 0, isComplete: true };
}

/** Adds the counts of another task to `sum`. The caller sets `isComplete`. */
export function addCounts(sum: SyncReport, part: Omit<SyncReport, 'isComplete'>): void {
  sum.rowsSeen += part.rowsSeen;
  sum.rowsInserted += part.rowsInserted;
  sum.rowsUpdated += part.rowsUpdated;
}

/**
 * Callback during a pass. `total` is the best known total, null while there is none. `pages` counts the pages of the
 * list in this pass; a task without pages omits it.
 */
export type Progress = (part: string, done: number, total: number | null, pages?: number) => void;
