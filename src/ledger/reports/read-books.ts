import type pg from 'pg';
import type { Ledger } from '../connection/connect-ledger.ts';
import { orNull, text } from '../connection/query-rows.ts';
import { batchRows, readAhead, readCursor } from '../connection/read-cursor.ts';
import {
  accountsSelect,
  carriedSelect,
  chartSelect,
  coinsSelect,
  dayCountsSelect,
  dayEndsSelect,
  daysOf,
  openingsSelect,
  outlineSelect,
  type Period,
  postingsSelect,
} from './books-sql.ts';

export type { Period } from './books-sql.ts';

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
export type CarriedRow = { symbol: string; account: string; amount: string };

/** The books of one moment, however long they take to read. */
export type Books = {
  period: Period;
  /** First UTC day with a transaction or a balance; null in an empty ledger. */
  firstDay: string | null;
  /** Values of the period that are not known and have no posting, see the view `unposted_values`. */
  unposted: number;
  /** Names of the accounts by role, as the table `accounts` has them. */
  chart: ReadonlyMap<string, string>;
  /** What was there before the history began, by coin, computed back from the first balance; empty as a rule. */
  openings(): Promise<ReadonlyMap<string, string>>;
  coins(): AsyncIterable<CoinRow[]>;
  accounts(): AsyncIterable<string[]>;
  carried(): AsyncIterable<CarriedRow[]>;
  postings(): AsyncIterable<PostingRow[]>;
  dayEnds(): AsyncIterable<DayEndRow[]>;
};

/**
 * Opens the books in one read-only transaction on a connection of its own; works on a standby too. The caller ends the
 * connection. Throws the database's errors.
 */
export async function openBooks(
  ledger: Ledger,
  period: Period,
): Promise<{ books: Books; end(): Promise<void> }> {
  const client = await ledger.patient();
  const end = () => client.end();
  try {
    await client.query('begin isolation level repeatable read, read only');
    return { books: await readBooks(client, period), end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function readBooks(client: pg.Client, period: Period): Promise<Books> {
  const days = daysOf(period);
  const read = async (text: string, values: string[] = []): Promise<unknown[][]> =>
    (await client.query({ text, values, rowMode: 'array' })).rows;
  const [[firstRead = null, unposted] = []] = await read(outlineSelect, days);
  const chart = await read(chartSelect);
  const counts = await read(dayCountsSelect, days);
  const firstDays = [firstRead, counts[0]?.[0] ?? null].flatMap((day) => orNull(text)(day) ?? []);
  const windows = toWindows(counts.map(([day, count]) => [text(day), Number(count)]));
  const cursor = <T>(name: string, select: string, own: string[], decode: (row: unknown[]) => T) =>
    readCursor(client, name, select, own, decode);
  return {
    period,
    firstDay: firstDays.sort()[0] ?? null,
    unposted: Number(unposted),
    chart: new Map(chart.map(([role, name]) => [text(role), text(name)])),
    openings: async () =>
      new Map((await read(openingsSelect)).map(([coin, opening]) => [text(coin), text(opening)])),
    coins: () =>
      cursor('coins', coinsSelect, [], ([symbol, scale, digits, values]) => ({
        symbol: text(symbol),
        scale: Number(scale),
        digits: Number(digits),
        values: Number(values),
      })),
    accounts: () => cursor('accounts', accountsSelect, [], ([name]) => text(name)),
    carried: () =>
      cursor('carried', carriedSelect, days.slice(0, 1), ([symbol, account, amount]) => ({
        symbol: text(symbol),
        account: text(account),
        amount: text(amount),
      })),
    postings: () =>
      readAhead(windows, (window, index) =>
        cursor(`postings_${index}`, postingsSelect, daysOf(window), postingOf),
      ),
    dayEnds: () =>
      cursor('day_ends', dayEndsSelect, days, ([day, symbol, reported, booked, agrees]) => ({
        day: text(day),
        symbol: text(symbol),
        reported: text(reported),
        booked: text(booked),
        agrees: agrees === 'true',
      })),
  };
}

/** A transaction has at most four postings, so a window of so many is read in one batch. */
const windowTransactions = batchRows / 4;

/**
 * Cuts the days into windows of at most `windowTransactions`; a day with more is a window of its own. The database
 * finds a window by its index and sorts it in memory.
 */
function toWindows(days: [day: string, transactions: number][]): Period[] {
  const windows: { from: string; to: string; size: number }[] = [];
  for (const [day, size] of days) {
    const last = windows.at(-1);
    if (last && last.size + size <= windowTransactions) {
      last.to = day;
      last.size += size;
    } else windows.push({ from: day, to: day, size });
  }
  return windows.map(({ from, to }) => ({ from, to }));
}

function postingOf(row: unknown[]): PostingRow {
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
