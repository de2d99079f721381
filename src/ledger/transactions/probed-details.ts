/** Rows whose detail a worker requests to find out if the service answers. */
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { out, query, text } from '../connection/query-rows.ts';
import { isOfHistory, turn } from './detail-checks.ts';

/**
 * Returns a row that is final, has its detail and is not due again; null: there is none. Searches only the newest rows
 * of each list, so that a ledger without any detail is not read to its end.
 */
export async function findDetailed(db: LedgerDb): Promise<string | null> {
  const [found] = await query(db)`
    select t.order_no as ${out('orderNo', text)}
      from (values ('deposit'), ('withdraw')) as l (name)
     cross join lateral (select * from own.transactions t
                          where t.stream = l.name and t.occurred_at is not null
                          order by t.occurred_at desc limit 500) as t
     where t.is_final and t.is_listed and t.detail_synced_at is not null
       and not exists (select from own.detail_checks c where c.order_no = t.order_no) limit 1`;
  return found?.orderNo ?? null;
}

/**
 * Returns up to `limit` rows that wait for their detail and that no worker holds, from the end that is claimed last:
 * the oldest rows of the history, and of the others those that became due last and were not refused.
 */
export async function findUnclaimed(db: LedgerDb, limit: number): Promise<string[]> {
  const rows = await query(db)`
    (select t.order_no as ${out('orderNo', text)} from own.transactions t
      where ${isOfHistory} order by t.occurred_at limit ${limit})
    union all
    (select c.order_no from own.detail_checks c
      where c.turn <= ${turn.history} and c.refusals = 0 and c.due_at <= now()
        and (c.claimed_until is null or c.claimed_until <= now())
      order by c.turn desc, c.due_at desc limit ${limit})
    limit ${limit}`;
  return rows.map(({ orderNo }) => orderNo);
}
