import type pg from 'pg';
import type { Ledger } from '../../connection/connect-ledger.ts';
import { onPatientConnection } from '../../connection/on-patient-connection.ts';
import { text } from '../../connection/query-rows.ts';
import { type Books, openingAccount } from '../books.ts';
import { chartSelect, type MonthDays } from '../books-sql.ts';
import {
  coinsWithoutOpening,
  differingBalances,
  keepStatements,
  keptCorrectionsSelect,
} from '../kept-books-sql.ts';
import { readKeptBooks } from '../read-kept-books.ts';
import { requireDistinctAccounts } from '../require-distinct-accounts.ts';
import { countEntries, type LateSum, lateSums } from './late-sums.ts';
import { readObstacles } from './read-obstacles.ts';
import { requireBegunHistory } from './require-begun-history.ts';

/**
 * `differingBalances`: how many reported balances the transactions contradict, so that journals do not assert them.
 * `coinsWithoutOpening`: coins whose difference may come from open, unreadable or unlisted transactions, so that the
 * books have no opening for them. `late`: the late entries of a month that was closed before.
 */
export type Closing =
  | {
      outcome: 'closed' | 'already';
      closedAt: string;
      transactions: number;
      digest: string;
      differingBalances: number;
      coinsWithoutOpening: string[];
      lateEntries: number;
      late: LateSum[];
    }
  | { outcome: 'refused'; reasons: string[] };

/** First key of an advisory lock; the second is the wallet's. A wallet closes one month at a time. */
const closingLock = 7_246_010;
/** Upper bound of the readings of a month whose rows change while it is read. */
const attemptsMax = 3;
/** Upper bound of the sums that a reason names. */
const namedMax = 5;
const changing = 'its transactions change while it is being closed: run the command again';

/**
 * Closes a month: keeps its books as they are, with the digest that `digestOf` computes, in one transaction. Does
 * nothing if the month is closed already, or if it is not proven complete. Throws LedgerError `usage` for a month that
 * is before the first transaction, `settings` if accounts of the chart overlap, and the database's errors.
 */
export async function closeMonth(
  ledger: Ledger,
  days: MonthDays,
  { digestOf, signal }: { digestOf(books: Books): Promise<string>; signal: AbortSignal },
): Promise<Closing> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const closing = await onPatientConnection(ledger, signal, (client) =>
      closeOnce(client, ledger, days, digestOf),
    );
    if (closing !== null) return closing;
  }
  return { outcome: 'refused', reasons: [changing] };
}

/** Resolves to null if the month's rows changed after they were read. */
async function closeOnce(
  client: pg.Client,
  { pool }: Ledger,
  days: MonthDays,
  digestOf: (books: Books) => Promise<string>,
): Promise<Closing | null> {
  // A lock of the session: the transaction's snapshot begins after it and sees what a concurrent closing committed.
  await client.query(`set lock_timeout = '20s'`);
  await client.query('select pg_advisory_lock($1::integer, hashtext(engine.wallet()))', [
    closingLock,
  ]);
  await client.query('begin isolation level repeatable read');
  const already = await readClosing(client, days);
  if (already !== null) return already;
  const reasons = await readObstacles(client, days);
  if (reasons.length > 0) return { outcome: 'refused', reasons };
  await requireBegunHistory(client, days);
  const { rows: chart } = await client.query<{ role: string; name: string }>(chartSelect);
  requireDistinctAccounts(chart.map(({ role, name }) => [role, name]));
  const fingerprint = await fingerprintOf(client, days);
  const transactions = await keepBooks(client, days);
  const unfitting = await readUnfitting(client, days);
  if (unfitting.length > 0) return { outcome: 'refused', reasons: unfitting };
  const digest = await digestOf(await readKeptBooks(client, days, [days.from]));
  // Blocks this wallet's writers from here to the commit. Afterwards their triggers see the closed month, and record
  // late entries.
  await client.query('select engine.hold_closing(engine.wallet())');
  if ((await fingerprintOf(pool, days)) !== fingerprint) return null;
  await client.query(
    'insert into own.closed_months (month, closed_at, transactions, digest) values ($1, clock_timestamp(), $2, $3)',
    [days.from, transactions, digest],
  );
  const closed = await readClosing(client, days);
  await client.query('commit');
  return closed && { ...closed, outcome: 'closed' };
}

type Closed = Exclude<Closing, { outcome: 'refused' }>;
type ClosedRow = Omit<Closed, 'outcome' | 'lateEntries'>;

const closedMonth = `
  select to_char(c.closed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "closedAt",
         c.transactions::integer, c.digest, ${differingBalances} as "differingBalances",
         ${coinsWithoutOpening} as "coinsWithoutOpening", ${lateSums} as late
    from own.closed_months c where c.month = $1`;

async function readClosing(client: pg.Client, { from }: MonthDays): Promise<Closed | null> {
  const { rows } = await client.query<ClosedRow>(closedMonth, [from]);
  const [row] = rows;
  return row === undefined
    ? null
    : { outcome: 'already', ...row, lateEntries: countEntries(row.late) };
}

/** Keeps every part of the books, and returns the number of transactions in them. */
async function keepBooks(client: pg.Client, days: MonthDays): Promise<number> {
  // Lines of a month whose row of closed_months was deleted by hand.
  await client.query('delete from own.closed_books where month = $1', [days.from]);
  for (const { text: statement, days: count } of keepStatements)
    await client.query(statement, [days.from, days.to].slice(0, count));
  const { rows } = await client.query<{ transactions: string }>(
    `select count(distinct k.cells[1]) as transactions
       from own.closed_books k where k.part = 'postings' and k.month = $1`,
    [days.from],
  );
  return Number(rows[0]?.transactions);
}

/**
 * Returns the reason against closing a month before a closed one, because the closed month begins with other sums than
 * this one ends with. The changes since then would be in neither month, and the journal of both would take them back.
 */
async function readUnfitting(client: pg.Client, { from, to }: MonthDays): Promise<string[]> {
  const { rows } = await client.query<{ month: string }>(
    'select c.month::text from own.closed_months c where c.month = $1::date + 1',
    [to],
  );
  const next = rows[0]?.month;
  if (next === undefined) return [];
  const corrections = await client.query<unknown[]>({
    text: keptCorrectionsSelect,
    values: [[from, next], openingAccount],
    rowMode: 'array',
  });
  if (corrections.rows.length === 0) return [];
  const named = corrections.rows
    .slice(0, namedMax)
    .map(([, coin, account]) => `${coin} of ${account}`);
  const rest = corrections.rows.length > namedMax ? ', …' : '';
  return [
    `${next.slice(0, 7)} is closed and begins with other sums than this month now ends with (${named.join(', ')}${rest}): transactions came or changed, or accounts were renamed, after it was closed. This month stays open`,
  ];
}

/** Changes with every change that would be a late entry if the month were closed. */
async function fingerprintOf(
  client: pg.Client | pg.Pool,
  { from, to }: MonthDays,
): Promise<string> {
  const { rows } = await client.query<{ fingerprint: string }>(
    `select count(*) || ' ' || coalesce(sum(hashtextextended(row(t.order_no, t.stream, t.symbol, t.amount, t.fee,
              t.fee_symbol, t.state, t.is_success, t.is_listed, t.occurred_at, t.first_seen_at)::text, 0)::numeric), 0)
              || coalesce((select string_agg(s::text, ' ' order by s.kind, s.symbol)
                             from ledger.booked_sums(engine.wallet(), '-infinity', $1::date::timestamp at time zone 'UTC') as s), '')
              as fingerprint
       from own.transactions t
      where t.occurred_at >= $1::date::timestamp at time zone 'UTC'
        and t.occurred_at < ($2::date + 1)::timestamp at time zone 'UTC' and t.stream in ('deposit', 'withdraw')
         or t.occurred_at is null and t.first_seen_at >= $1::date::timestamp at time zone 'UTC'
        and t.first_seen_at < ($2::date + 1)::timestamp at time zone 'UTC' and t.stream in ('deposit', 'withdraw')`,
    [from, to],
  );
  return text(rows[0]?.fingerprint);
}
