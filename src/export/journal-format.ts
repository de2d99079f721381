import type { CarriedRow, CoinRow, DayEndRow, PostingRow } from '../ledger/reports/books.ts';

/** Syntax of a journal: each function returns whole lines, which end with a newline. */
export type JournalFormat = {
  /**
   * Returns the first lines of a journal: the remarks `lines`, and the directives that the tool needs before all
   * others.
   */
  head(lines: string[]): string;
  coin(coin: CoinRow): string;
  account(name: string, since: string): string;
  /** One transaction of the postings of an order, which all have its number and time. */
  transaction(postings: readonly PostingRow[]): string;
  /** First line of a transaction of the program's own; its postings follow. */
  heading(day: string, remark: string): string;
  posting(posting: CarriedRow): string;
  /** Reported balances at the end of a UTC day that the transactions add up to. */
  dayEnd(day: string, custody: string, balances: readonly DayEndRow[]): string;
  remark(line: string): string;
};

/** UTC day of a time as PostgreSQL writes it. */
export function dayOf(time: string): string {
  return time.slice(0, time.indexOf(' '));
}

/** `2026-03-31 22:10:05.123+00` as `2026-03-31T22:10:05.123Z`. */
export function isoTime(time: string): string {
  return `${time.replace(' ', 'T').replace(/\+00$/, '')}Z`;
}
