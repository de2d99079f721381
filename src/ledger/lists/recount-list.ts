import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';

/**
 * Corrects the counts of the list and of its days from the table; triggers may have been disabled. A corrected day
 * loses its verification. Call it inside a transaction.
 */
export async function recountStream(db: LedgerDb, stream: string): Promise<void> {
  await lockCount(db, stream);
  await db.execute(sql`
    update own.streams s
       set ledger_count = c.count
      from (select count(*) as count from own.transactions where stream = ${stream} and is_listed) c
     where s.name = ${stream} and s.ledger_count <> c.count`);
  await db.execute(sql`
    insert into own.coverage as c (stream, day, transactions)
    select ${stream}, day, coalesce(r.rows, 0)
      from (select (ledger.listed_at(occurred_at, list_word) at time zone 'UTC')::date as day, count(*) as rows
              from own.transactions where stream = ${stream} and is_listed group by 1) as r
      full join (select day from own.coverage where stream = ${stream}) as d using (day)
     where day is not null
    on conflict (wallet, stream, day) do update set transactions = excluded.transactions, verified_at = null
     where c.transactions <> excluded.transactions`);
}

/** Corrects the count of a chain's address list; triggers may have been disabled. Call it inside a transaction. */
export async function recountAddresses(db: LedgerDb, slip44: number): Promise<void> {
  const stream = `addresses:${slip44}`;
  await lockCount(db, stream);
  await db.execute(sql`
    update own.streams s
       set ledger_count = c.items
      from (select coalesce(sum(greatest(1, cardinality(listed_as))), 0) as items
              from own.addresses where slip44 = ${slip44}) c
     where s.name = ${stream} and s.ledger_count <> c.items`);
}

/** Every writer counts its rows in the transaction that stores them, so the next statement sees each counted row. */
async function lockCount(db: LedgerDb, stream: string): Promise<void> {
  await db.execute(sql`select from own.streams where name = ${stream} for no key update`);
}
