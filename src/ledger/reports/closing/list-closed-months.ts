import type pg from 'pg';
import type { Ledger } from '../../connection/connect-ledger.ts';
import { onPatientConnection } from '../../connection/on-patient-connection.ts';
import type { Books } from '../books.ts';
import { coinsWithoutOpening, differingBalances, negativeOpenings } from '../kept-books-sql.ts';
import { readKeptBooks } from '../read-kept-books.ts';
import { countEntries, type LateSum, lateSums } from './late-sums.ts';

/**
 * `isIntact`: the kept books still have the digest that was recorded when the month was closed. `differingBalances` and
 * `coinsWithoutOpening`: as in `Closing`. `negativeOpenings`: coins of which an earlier version booked a difference
 * below zero as an opening.
 */
export type ClosedMonth = {
  month: string;
  closedAt: string;
  transactions: number;
  digest: string;
  isIntact: boolean;
  differingBalances: number;
  coinsWithoutOpening: string[];
  negativeOpenings: string[];
  lateEntries: number;
  late: LateSum[];
};

type Row = Omit<ClosedMonth, 'isIntact' | 'lateEntries'> & { firstDay: string; lastDay: string };

const monthsSelect = `
  select c.month::text as "firstDay", (c.month + interval '1 month' - interval '1 day')::date::text as "lastDay",
         to_char(c.month, 'YYYY-MM') as month, c.transactions::integer, c.digest,
         ${differingBalances} as "differingBalances", ${coinsWithoutOpening} as "coinsWithoutOpening",
         ${negativeOpenings} as "negativeOpenings",
         to_char(c.closed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "closedAt",
         ${lateSums} as late
    from own.closed_months c order by c.month`;

/** Reads the closed months of one moment, and compares the digest of each with that of its kept books. */
export async function listClosedMonths(
  ledger: Ledger,
  { digestOf, signal }: { digestOf(books: Books): Promise<string>; signal: AbortSignal },
): Promise<ClosedMonth[]> {
  return await onPatientConnection(ledger, signal, async (client) => {
    await client.query('begin isolation level repeatable read, read only');
    const { rows } = await client.query<Row>(monthsSelect);
    const months: ClosedMonth[] = [];
    for (const row of rows) months.push(await judge(client, row, digestOf));
    return months;
  });
}

async function judge(
  client: pg.Client,
  { firstDay, lastDay, ...row }: Row,
  digestOf: (books: Books) => Promise<string>,
): Promise<ClosedMonth> {
  const books = await readKeptBooks(client, { from: firstDay, to: lastDay }, [firstDay]);
  const isIntact = (await digestOf(books)) === row.digest;
  return { ...row, isIntact, lateEntries: countEntries(row.late) };
}
