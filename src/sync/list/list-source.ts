import type { Page, RecordSource } from '../../kernel/wallet-records.ts';

/** Properties in which lists differ. */
export type ListSource<T> = {
  /**
   * Reads one page. `failuresMax`: number of unreadable answers, codes other than 0, or answers such as HTTP 500 after
   * which it fails; absent: the client's default. `isKnownEmpty`: the last pass found the list empty, so null or [] in
   * place of page 1 is accepted at once.
   */
  readPage(
    pageNo: number,
    pageSize: number,
    signal: AbortSignal,
    failuresMax?: number,
    isKnownEmpty?: boolean,
  ): Promise<Page<T>>;
  /** Source of the reject for a row that cannot be read at all. */
  rejectSource: RecordSource;
  keyOf(record: T): string;
  /** Time of the record, Unix ms; null if the list shows no times. */
  timeOf(record: T): number | null;
  /** Time of a row that cannot be stored, from its text; absent: the list shows no times. */
  timeOfPayload?(payload: string): number | null;
};
