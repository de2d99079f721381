import type { Page, RecordSource } from '../../kernel/wallet-records.ts';

/** What differs from list to list. */
export type ListSource<T> = {
  /**
   * `failuresMax`: how many unreadable answers or codes other than 0 are enough; absent: as the
   * client thinks fit.
   */
  readPage(
    pageNo: number,
    pageSize: number,
    signal: AbortSignal,
    failuresMax?: number,
  ): Promise<Page<T>>;
  /** Where the reject of a row belongs that cannot be read at all. */
  rejectSource: RecordSource;
  keyOf(record: T): string;
  /** Unix ms; null where the list shows no times. */
  timeOf(record: T): number | null;
};
