import type { Reject } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import type { ListSource } from '../list/list-pages.ts';
import type { Scan } from '../list/list-port.ts';

/** A row with the observation of the request that brought it. */
export type WithObservation<T> = T & { observation: number };

/** One list that the ledger keeps in step: the source of its pages and the target of its rows. */
export type Stream<T> = ListSource<T> & {
  /** Key of `ledger.streams` within the wallet. */
  name: string;
  /** Reads a page of a full scan, in the lane of that scan; absent: as any other page. */
  scanPage?: Record<Scan, ListSource<T>['readPage']>;
  /** The ledger can find the rank of a row by its time, and marks a row that the list no longer shows as unlisted. */
  hasRanks: boolean;
  /** Returns up to `limit` keys that the ledger lists and a whole scan has not noted. May act on its notes first. */
  unseen(db: LedgerDb, limit: number): Promise<string[]>;
  /** Acts on the notes of a whole scan that met every row of the list, in the transaction that ends it. */
  afterWholeScan?(db: LedgerDb): Promise<void>;
  /**
   * Prepares rows for a transaction, which may start more than once. `isScanned`: a scan of the list has ended.
   * `hasOpenRejects`: the ledger has rejects that the rows may settle.
   */
  prepareRows(
    rows: WithObservation<T>[],
    isScanned: boolean,
  ): (db: LedgerDb) => Promise<{ inserted: number; updated: number; hasOpenRejects: boolean }>;
  /** Returns true if storing the rows would change nothing; absent: a transaction finds out. */
  areStored?(db: LedgerDb, rows: WithObservation<T>[]): Promise<boolean>;
  /** Builds the reject of a row that PostgreSQL refused: the same however often it is read. */
  toReject(row: WithObservation<T>, reason: string): Reject;
};

/**
 * Returns the pages of a stream, which are those of `scanPage` while a full scan is under way. `isKnownEmpty`: the last
 * pass found the list empty.
 */
export function createLanedSource<T>(stream: Stream<T>, isKnownEmpty: boolean) {
  let current: Scan | null = null;
  const source: ListSource<T> = {
    ...stream,
    readPage: (pageNo, pageSize, signal, failuresMax) => {
      const readPage = (current && stream.scanPage?.[current]) ?? stream.readPage;
      return readPage(pageNo, pageSize, signal, failuresMax, isKnownEmpty);
    },
  };
  const scanning = (scan: Scan | null): void => {
    current = scan;
  };
  return { source, scanning };
}
