import { type SQL, sql } from 'drizzle-orm';
import type { ReadDays } from '../../kernel/vocabulary.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, orNull, out, query } from '../connection/query-rows.ts';
import { listedAt } from './stream-store.ts';

const dateOf = (day: number | null, otherwise: '-infinity' | 'infinity') =>
  sql`coalesce(date '1970-01-01' + ${day}::integer, ${otherwise}::date)`;

/**
 * Compares the listed rows of each day with those that were read. Marks equal days as verified, clears the mark of the
 * others, and returns these (days since 1970). Every row that was read is in the ledger, so equal counts mean equal
 * sets; a day with a row that could not be stored loses its mark. Compares nothing and returns null while the ledger
 * counts rows of this list in another list.
 */
export async function compareDays(
  db: LedgerDb,
  stream: string,
  { low, high, rows, head, isHeadNew, unstored = [] }: ReadDays,
): Promise<number[] | null> {
  // Every writer that adds, removes or marks rows of the list changes the list's row first, so after this lock the next
  // statements see those rows.
  await db.execute(lockedList(stream));
  const { rows: guests } = await db.execute(
    sql`select from own.transactions where also_listed_in = ${stream} limit 1`,
  );
  if (guests.length > 0) return null;
  const compared = await query(db)`
with seen as (
  select date '1970-01-01' + i.day as day, i.rows
    from unnest(${sql.param(rows.map(([day]) => day))}::integer[], ${sql.param(rows.map(([, count]) => count))}::bigint[])
      as i (day, rows)
),
-- Rows that arrived after the reading began cannot be among those that it read.
late as (
  ${isHeadWithin({ high, head, isHeadNew }) ? rowsBeyond(stream, head) : noRows}
),
compared as (
  select c.day, c.transactions - coalesce(l.rows, 0) = coalesce(s.rows, 0) as is_equal
    from own.coverage c left join seen s using (day) left join late l using (day)
   where c.stream = ${stream} and c.day between ${dateOf(low, '-infinity')} and ${dateOf(high, 'infinity')}
     and c.transactions > coalesce(l.rows, 0)
),
marked as (
  update own.coverage c set verified_at = case when x.is_equal and not ${isUnstored(unstored)} then now() end
    from compared x where c.stream = ${stream} and c.day = x.day
),
unmarked as (
  update own.coverage c set verified_at = null
   where c.stream = ${stream} and c.verified_at is not null and ${isUnstored(unstored)}
     and not exists (select from compared x where x.day = c.day)
)
select day - date '1970-01-01' as ${out('day', number)} from compared where not is_equal
union
select s.day - date '1970-01-01' from seen s
 where s.rows > 0 and not exists (select from compared x where x.day = s.day)
union
select day - date '1970-01-01' from late where ${isHeadNew}`;
  return compared.map(({ day }) => day);
}

const dayMs = 86_400_000;

/** Returns true if the days reach that of the reading's head. Earlier days have no row beyond it. */
function isHeadWithin({ high, head, isHeadNew }: Pick<ReadDays, 'high' | 'head' | 'isHeadNew'>) {
  return head !== null && (isHeadNew || high === null || high >= Math.floor(head / dayMs));
}

const noRows = sql`select null::date as day, 0::bigint as rows where false`;

/**
 * Counts the rows per day that the list has beyond a time (Unix ms). The time in the list counts, although the row
 * stores the detail's. If the detail's time is earlier, the row is searched among those that were first seen since
 * then: it cannot have arrived earlier, except for the difference of the clocks.
 */
function rowsBeyond(stream: string, time: number | null): SQL {
  const at = sql`(timestamptz 'epoch' + ${time}::bigint * interval '1 millisecond')`;
  const isBeyond = sql`stream = ${stream} and is_listed and ${listedAt} > ${at}`;
  return sql`select (r.at at time zone 'UTC')::date as day, count(*) as rows
    from (select ${listedAt} as at from own.transactions where ${isBeyond} and occurred_at > ${at}
          union all
          select ${listedAt} from own.transactions
           where ${isBeyond} and occurred_at <= ${at} and list_word ? 'occurred_at'
             and first_seen_at > ${at} - interval '1 hour') as r
   group by 1`;
}

/** Condition that day c has a listed row that the ledger cannot store. */
const isUnstored = (days: number[]) =>
  sql`(c.day - date '1970-01-01') = any(${sql.param(days)}::integer[])`;

/** Locks the list's row. Every writer that counts rows of a day locks it before the day. */
const lockedList = (stream: string) =>
  sql`select name from own.streams where name = ${stream} for no key update`;

/** Clears the mark of these days of a list. */
export async function clearDays(db: LedgerDb, stream: string, days: number[]): Promise<void> {
  await db.execute(sql`
    with list as materialized (${lockedList(stream)})
    update own.coverage c set verified_at = null
      from list where c.stream = list.name and c.verified_at is not null and ${isUnstored(days)}`);
}

/**
 * Marks the days of the list as verified. Without `isToTheEnd` it leaves out today and yesterday, which may have new
 * rows. `unstored`: days with a listed row that the ledger cannot store; they lose their mark.
 */
export async function verifyDays(
  db: LedgerDb,
  stream: string,
  isToTheEnd: boolean,
  unstored: number[] = [],
): Promise<void> {
  await db.execute(sql`
    with list as materialized (${lockedList(stream)})
    update own.coverage c set verified_at = case when not ${isUnstored(unstored)} then now() end
      from list where c.stream = list.name and (${isToTheEnd} or day < (now() at time zone 'UTC')::date - 1)`);
}

/**
 * Returns the listed rows per UTC day (days since 1970) and the time of the day's last verification (Unix ms; null:
 * never).
 */
export async function readCoverage(
  db: LedgerDb,
  stream: string,
): Promise<{ day: number; rows: number; verifiedAt: number | null }[]> {
  return await query(db)`
    select day - date '1970-01-01' as ${out('day', number)}, transactions as ${out('rows', number)},
           (extract(epoch from verified_at) * 1000)::float8 as ${out('verifiedAt', orNull(number))}
      from own.coverage where stream = ${stream} and transactions > 0 order by day`;
}
