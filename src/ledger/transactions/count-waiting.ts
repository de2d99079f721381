import { type SQL, sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, out, query, truth } from '../connection/query-rows.ts';
import { isGivenUp } from './detail-checks.ts';

/** Upper bound of the rows that are counted one by one. */
const countedMax = 10_000;

/** Condition that the service lists the row. It need not give a detail of a row that it no longer lists. */
const isListed = (orderNo: SQL) =>
  sql`exists (select from own.transactions t where t.order_no = ${orderNo} and t.is_listed)`;

/**
 * Relation with one row about the rows of `own.waiting_details`: their number `incomplete`, that of the final ones
 * `final_incomplete`, and of the listed ones that the service has refused for days `refused`. Beyond the bound the rows
 * of the history come from the running totals, so that the cost does not grow with it: all listed rows without a
 * detail, less those that have a check of their own.
 */
export const waitingCounts = sql`(
  with counted as materialized (
    select count(*) as incomplete, count(*) filter (where w.is_final) as final_incomplete
      from (select is_final from own.waiting_details limit ${countedMax + 1}) as w),
  checked as materialized (
    select count(*) filter (where not c.lacks_detail) as others,
           count(*) filter (where c.is_final and not c.lacks_detail) as final_others,
           count(*) filter (where not c.is_final and c.lacks_detail) as open_ones
      from (select d.is_final, exists (select from own.transactions t
                                        where t.order_no = d.order_no and t.is_listed and t.detail_synced_at is null) as lacks_detail
              from own.detail_checks d) as c
     where (select incomplete from counted) > ${countedMax}),
  lacking as materialized (
    select coalesce(sum(s.transactions), 0) as transactions
      from (select transactions from own.all_sums where lacks_detail
            union all select transactions from own.total_changes where lacks_detail) as s)
  select case when c.incomplete <= ${countedMax} then c.incomplete
              else (select l.transactions + k.others from lacking l, checked k) end as incomplete,
         case when c.incomplete <= ${countedMax} then c.final_incomplete
              else (select l.transactions + k.final_others - k.open_ones from lacking l, checked k) end as final_incomplete,
         (select count(*) from own.detail_checks d where ${isGivenUp} and ${isListed(sql`d.order_no`)}) as refused
    from counted c)`;

/** Returns false for a role without the rights to the tables of the schema engine that `waitingCounts` reads. */
export async function mayCountByTotals(db: LedgerDb): Promise<boolean> {
  const [rights] = await query(db)`
    select coalesce(bool_and(has_table_privilege(c.oid, 'select')), false) as ${out('areGiven', truth)} from pg_class c
     where c.relnamespace = (select oid from pg_namespace where nspname = 'engine')
       and c.relname in ('all_sums', 'total_changes', 'detail_checks')`;
  return rights?.areGiven ?? false;
}

/** The same counts from the view alone, which counts each row. */
export const waitingCountsOfView = sql`(
  select count(*) as incomplete, count(*) filter (where is_final) as final_incomplete,
         count(*) filter (where ${isGivenUp} and ${isListed(sql`w.order_no`)}) as refused
    from own.waiting_details w)`;

/** Counts rows: all whose final detail is still to be fetched, and the final ones of these. */
export async function countIncomplete(
  db: LedgerDb,
): Promise<{ incomplete: number; finalIncomplete: number }> {
  const [counts] = await query(db)`
    select incomplete as ${out('incomplete', number)}, final_incomplete as ${out('finalIncomplete', number)}
      from ${waitingCounts} as w`;
  return counts ?? { incomplete: 0, finalIncomplete: 0 };
}
