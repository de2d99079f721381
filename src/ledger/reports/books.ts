import { orNull, text } from '../connection/query-rows.ts';
import type { Period } from './books-sql.ts';

/** Amounts are decimal texts without exponent, as PostgreSQL writes them. Times are `2026-03-31 22:10:05.123+00`. */
export type PostingRow = {
  orderNo: string;
  postingNo: string;
  bookedAt: string;
  account: string;
  symbol: string;
  amount: string;
  stream: string;
  txHash: string | null;
};

/** The reported balance of a coin at the end of a UTC day; `agrees` says that the transactions add up to it. */
export type DayEndRow = {
  day: string;
  symbol: string;
  reported: string;
  booked: string;
  agrees: boolean;
};

/** `scale`: decimals; `digits`: digits before the point of the sum of all amounts; `values`: number of amounts. */
export type CoinRow = { symbol: string; scale: number; digits: number; values: number };
/** A coin whose opening is not known yet, with its latest reported balance and the sum of its transactions. */
export type DoubtRow = { symbol: string; reported: string; booked: string };
export type CarriedRow = { symbol: string; account: string; amount: string };
export type CorrectionRow = CarriedRow & { day: string };

/** The books of one moment, however long they take to read. */
export type Books = {
  period: Period;
  /** First UTC day with a transaction or a balance; null in an empty ledger. */
  firstDay: string | null;
  /** Values of the period that are not known and have no posting, see the view `unposted_values`. */
  unposted: number;
  /** Roles and names of the chart of accounts; those of each month in a period of closed months. */
  names: Iterable<readonly [role: string, name: string]>;
  /** Name of the account of role `custody` on a UTC day. */
  custodyOn(day: string): string;
  /**
   * The closed months (`2026-03`) from whose kept books these were read; empty if they were read from the current rows.
   */
  closedMonths: readonly string[];
  /**
   * Balances by coin from before the history began, computed back from the first reported balance; empty as a rule.
   * Negative only in the books of a month that an earlier version closed.
   */
  openings(): Promise<ReadonlyMap<string, string>>;
  /**
   * Coins without an opening because open, unreadable or unlisted transactions may explain every difference from their
   * reported balances.
   */
  doubts(): Promise<readonly DoubtRow[]>;
  coins(): AsyncIterable<CoinRow[]>;
  accounts(): AsyncIterable<string[]>;
  carried(): AsyncIterable<CarriedRow[]>;
  postings(): AsyncIterable<PostingRow[]>;
  dayEnds(): AsyncIterable<DayEndRow[]>;
  /** Differences between the start of a closed month's books and the end of the month before, in order of days. */
  corrections(): AsyncIterable<CorrectionRow[]>;
};

/** Account of the balances from before the history began; the chart has none for it. */
export const openingAccount = 'equity:opening';

/** Decodes a row of `postingsSelect`. */
export function postingOf(row: unknown[]): PostingRow {
  return {
    orderNo: text(row[0]),
    postingNo: text(row[1]),
    bookedAt: text(row[2]),
    account: text(row[3]),
    symbol: text(row[4]),
    amount: text(row[5]),
    stream: text(row[6]),
    txHash: orNull(text)(row[7]),
  };
}

/** Decodes a row of `coinsSelect`. */
export function coinOf([symbol, scale, digits, values]: unknown[]): CoinRow {
  return {
    symbol: text(symbol),
    scale: Number(scale),
    digits: Number(digits),
    values: Number(values),
  };
}

/** Decodes a row of `doubtsSelect`. */
export function doubtOf([symbol, reported, booked]: unknown[]): DoubtRow {
  return { symbol: text(symbol), reported: text(reported), booked: text(booked) };
}

/** Decodes a row of `carriedSelect`. */
export function carriedOf([symbol, account, amount]: unknown[]): CarriedRow {
  return { symbol: text(symbol), account: text(account), amount: text(amount) };
}

/** Decodes a row of `dayEndsSelect`. */
export function dayEndOf([day, symbol, reported, booked, agrees]: unknown[]): DayEndRow {
  return {
    day: text(day),
    symbol: text(symbol),
    reported: text(reported),
    booked: text(booked),
    agrees: agrees === 'true',
  };
}
