import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connect-ledger.ts';

/**
 * Stores addresses that the service lists for a chain (section 4.2 of its document) and raises the count of the
 * stream `addresses:<slip44>`. New ones are `used` where a stored deposit went to them, else `foreign`: somebody
 * may have handed them out. Stored ones stay as they are. Call it inside a transaction.
 */
export async function storeListedAddresses(
  db: LedgerDb,
  slip44: number,
  addresses: string[],
): Promise<{ inserted: number }> {
  const unknown = await db.execute<{ address: string }>(sql`
    select distinct address from unnest(${sql.param(addresses)}::text[]) as i (address)
     where not exists (select from ledger.addresses a where a.slip44 = ${slip44} and a.address = i.address)`);
  if (unknown.rows.length === 0) return { inserted: 0 };
  // A deposit that is being stored right now does not see these addresses, nor do they see it: wait for it.
  await db.execute(sql`lock table ledger.transactions in share mode`);
  const stored = await db.execute<{ inserted: number }>(sql`
with inserted as (
  insert into ledger.addresses (slip44, address, status, first_deposit_order_no, first_seen_at)
  select ${slip44}::integer, i.address, case when d.order_no is null then 'foreign' else 'used' end, d.order_no, now()
    from unnest(${sql.param(unknown.rows.map((row) => row.address))}::text[]) as i (address)
    left join lateral (
      select t.order_no from ledger.transactions t
       where t.stream = 'deposit' and lower(t.to_address) = lower(i.address)
       order by t.occurred_at, t.order_no limit 1
    ) d on true
   order by i.address
  on conflict do nothing
  returning address
),
counted as (
  insert into ledger.streams (name, ledger_count)
  select ${`addresses:${slip44}`}::text, count(*) from inserted having count(*) > 0
  on conflict (name) do update set ledger_count = streams.ledger_count + excluded.ledger_count
)
select count(*)::int as inserted from inserted`);
  return { inserted: stored.rows[0]?.inserted ?? 0 };
}
