import type pg from 'pg';
import { LedgerError } from '../../../kernel/errors.ts';
import type { MonthDays } from '../books-sql.ts';

/**
 * Throws LedgerError `usage` for a month before the first transaction that enters the books, unless it follows a closed
 * one: it would be closed empty, and stay so. Without any such transaction every month is before the first one.
 */
export async function requireBegunHistory(client: pg.Client, { from }: MonthDays): Promise<void> {
  const { rows } = await client.query<{ first: string | null }>(
    `select to_char(h.begins_at at time zone 'UTC', 'YYYY-MM') as first
       from (select least(
               (select min(d.occurred_at)
                  from (values ('deposit'), ('withdraw')) as l (name)
                 cross join lateral (select t.occurred_at from own.transactions t
                                      where t.stream = l.name and t.occurred_at is not null and t.is_listed
                                      order by t.occurred_at limit 1) as d),
               (select min(t.first_seen_at) from own.transactions t
                 where t.occurred_at is null and t.is_listed and t.stream in ('deposit', 'withdraw'))) as begins_at) as h
      where (h.begins_at is null or h.begins_at >= ($1::date + interval '1 month') at time zone 'UTC')
        and not exists (select from own.closed_months c where c.month = ($1::date - interval '1 month')::date)`,
    [from],
  );
  const [begun] = rows;
  if (begun === undefined) return;
  const month = from.slice(0, 7);
  const closedEmpty = 'and would stay closed without any';
  if (begun.first === null) {
    const message = `there is no transaction yet, so that ${month} is before the first one, ${closedEmpty}`;
    const cure = 'close a month once the ledger has a transaction in it or before it';
    throw new LedgerError('usage', message, { cure });
  }
  const message = `${month} is before the first transaction, ${closedEmpty}`;
  const cure = `${begun.first} is the first month with transactions: close that one first`;
  throw new LedgerError('usage', message, { cure });
}
