import type pg from 'pg';
import { text } from '../connection/query-rows.ts';
import { readCursor } from '../connection/read-cursor.ts';
import {
  type Books,
  type CorrectionRow,
  carriedOf,
  coinOf,
  dayEndOf,
  doubtOf,
  openingAccount,
  postingOf,
} from './books.ts';
import type { Period } from './books-sql.ts';
import {
  keptAccountsSelect,
  keptCarriedSelect,
  keptChartSelect,
  keptCoinsSelect,
  keptCorrectionsSelect,
  keptDayEndsSelect,
  keptDoubtsSelect,
  keptOpeningsSelect,
  keptPostingsSelect,
} from './kept-books-sql.ts';

/**
 * Returns the first days of the closed months that the period lies in; none if one of its months is open, or if it has
 * no first or no last day.
 */
export async function findClosedMonths(
  client: pg.Client,
  { from, to }: Period,
): Promise<readonly string[]> {
  if (from === null || to === null) return [];
  const { rows } = await client.query<{ month: string; is_closed: boolean }>(
    `select m::date::text as month, c.month is not null as is_closed
       from generate_series(date_trunc('month', $1::date::timestamp), $2::date::timestamp, interval '1 month') as m
       left join own.closed_months c on c.month = m::date
      order by m`,
    [from, to],
  );
  return rows.every((row) => row.is_closed) ? rows.map(({ month }) => month) : [];
}

/** Reads the kept books of closed months, whatever has come or changed since; `months` are their first days. */
export async function readKeptBooks(
  client: pg.Client,
  period: Period,
  months: readonly string[],
): Promise<Books> {
  const [first = ''] = months;
  const [from, to] = [period.from ?? first, period.to ?? 'infinity'];
  const read = async (select: string, values: unknown[]): Promise<unknown[][]> =>
    (await client.query({ text: select, values, rowMode: 'array' })).rows;
  const charts = (await read(keptChartSelect, [months])).map((row) => row.map(text));
  const custodies = new Map(
    charts.flatMap(([month = '', role, name = '']) => (role === 'custody' ? [[month, name]] : [])),
  );
  const cursor = <T>(name: string, select: string, own: unknown[], decode: (row: unknown[]) => T) =>
    readCursor(client, name, select, own, decode);
  return {
    period,
    firstDay: first,
    // A month with such values cannot be closed.
    unposted: 0,
    names: charts.map(([, role = '', name = '']) => [role, name] as const),
    custodyOn: (day) => custodies.get(`${day.slice(0, 7)}-01`) ?? 'custody',
    closedMonths: months.map((month) => month.slice(0, 7)),
    openings: async () =>
      new Map(
        (await read(keptOpeningsSelect, [first])).map(([coin, sum]) => [text(coin), text(sum)]),
      ),
    doubts: async () => (await read(keptDoubtsSelect, [first])).map(doubtOf),
    coins: () => cursor('coins', keptCoinsSelect, [months], coinOf),
    accounts: () =>
      cursor('accounts', keptAccountsSelect, [months, openingAccount], ([name]) => text(name)),
    carried: () => cursor('carried', keptCarriedSelect, [first, from], carriedOf),
    postings: () => cursor('postings', keptPostingsSelect, [months, from, to], postingOf),
    dayEnds: () => cursor('day_ends', keptDayEndsSelect, [months, from, to], dayEndOf),
    corrections: () =>
      cursor('corrections', keptCorrectionsSelect, [months, openingAccount], correctionOf),
  };
}

function correctionOf([day, ...carried]: unknown[]): CorrectionRow {
  return { day: text(day), ...carriedOf(carried) };
}
