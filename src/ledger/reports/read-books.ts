import type pg from 'pg';
import type { Ledger } from '../connection/connect-ledger.ts';
import { orNull, text } from '../connection/query-rows.ts';
import { batchRows, readAhead, readBatch, readCursor } from '../connection/read-cursor.ts';
import { type Books, carriedOf, coinOf, dayEndOf, doubtOf, postingOf } from './books.ts';
import {
  accountsSelect,
  carriedSelect,
  chartSelect,
  coinsSelect,
  dayCountsSelect,
  dayEndsSelect,
  daysOf,
  doubtsSelect,
  openingsSelect,
  outlineSelect,
  type Period,
  postingsSelect,
} from './books-sql.ts';
import { findClosedMonths, readKeptBooks } from './read-kept-books.ts';
import { requireDistinctAccounts } from './require-distinct-accounts.ts';

/**
 * Opens the books in one read-only transaction on a connection of its own; works on a standby too. A period of closed
 * months is read from their kept books. The caller ends the connection. Throws LedgerError `settings` if accounts of
 * the chart overlap, and the database's errors.
 */
export async function openBooks(
  ledger: Ledger,
  period: Period,
): Promise<{ books: Books; end(): Promise<void> }> {
  const client = await ledger.patient();
  const end = () => client.end();
  try {
    await client.query('begin isolation level repeatable read, read only');
    const months = await findClosedMonths(client, period);
    const books =
      months.length > 0
        ? await readKeptBooks(client, period, months)
        : await readBooks(client, period);
    return { books, end };
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
  const names = new Map(chart.map(([role, name]) => [text(role), text(name)]));
  requireDistinctAccounts(names);
  const counts = await read(dayCountsSelect, days);
  const firstDays = [firstRead, counts[0]?.[0] ?? null].flatMap((day) => orNull(text)(day) ?? []);
  const windows = toWindows(counts.map(([day, count]) => [text(day), Number(count)]));
  const cursor = <T>(name: string, select: string, own: string[], decode: (row: unknown[]) => T) =>
    readCursor(client, name, select, own, decode);
  return {
    period,
    firstDay: firstDays.sort()[0] ?? null,
    unposted: Number(unposted),
    names,
    custodyOn: () => names.get('custody') ?? 'custody',
    closedMonths: [],
    openings: async () =>
      new Map((await read(openingsSelect)).map(([coin, opening]) => [text(coin), text(opening)])),
    doubts: async () => (await read(doubtsSelect)).map(doubtOf),
    coins: () => cursor('coins', coinsSelect, [], coinOf),
    accounts: () => cursor('accounts', accountsSelect, [], ([name]) => text(name)),
    carried: () => cursor('carried', carriedSelect, days.slice(0, 1), carriedOf),
    postings: () =>
      readAhead(windows, (window, index) =>
        window.transactions > windowTransactions
          ? cursor(`postings_${index}`, postingsSelect, daysOf(window), postingOf)
          : readBatch(client, postingsSelect, daysOf(window), postingOf),
      ),
    dayEnds: () => cursor('day_ends', dayEndsSelect, days, dayEndOf),
    async *corrections() {},
  };
}

/** A transaction has two to four postings, so a window of so many has at most two batches of a cursor. */
const windowTransactions = batchRows / 2;

type Window = Period & { transactions: number };

/**
 * Cuts the days into windows of at most `windowTransactions`; a day with more is a window of its own. The database
 * finds a window by its index and sorts it in memory.
 */
function toWindows(days: [day: string, transactions: number][]): Window[] {
  const windows: Window[] = [];
  for (const [day, transactions] of days) {
    const last = windows.at(-1);
    if (last && last.transactions + transactions <= windowTransactions) {
      last.to = day;
      last.transactions += transactions;
    } else windows.push({ from: day, to: day, transactions });
  }
  return windows;
}
