import { sql } from 'drizzle-orm';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import { number, out, query, text, truth } from '../connection/query-rows.ts';
import { chainOfRow, contractOfRow, knownChains } from './row-chain.ts';

/** Rows without a chain that one transaction reads. */
const batchMax = 5_000;
/**
 * Prevents bad plans, whatever the statistics say: each row is found by its index, not compared with every other one.
 */
const joinedOnce = 'set local enable_seqscan = off; set local enable_nestloop = off';

/**
 * Assigns chains to stored rows that have none, after the wallet got an asset (`engine.chain_assignments`) or an
 * address (`engine.chain_addresses`). Ends after `mostMs`, and continues with the next call. Each batch is a separate
 * transaction. Only the columns of the chain change, because the service sent nothing new. Writes nothing if nothing is
 * due.
 */
export async function assignChains(
  ledger: Ledger,
  { signal, mostMs }: { signal: AbortSignal; mostMs: number },
): Promise<void> {
  const endsAt = performance.now() + mostMs;
  while (!signal.aborted && performance.now() < endsAt) {
    if (!(await isDue(ledger.db))) return;
    await ledger.transaction(async (db) => {
      if (!(await assignByAddress(db))) await assignNextRows(db);
    }, joinedOnce);
  }
}

const isTaskDue = sql`coalesce(repeat_after <= pg_snapshot_xmin(pg_current_snapshot()), true)`;

async function isDue(db: LedgerDb): Promise<boolean> {
  const [row] = await query(db)`
    select exists (select from own.chain_addresses)
           or exists (select from own.chain_assignments where ${isTaskDue}) as ${out('isDue', truth)}`;
  return row?.isDue ?? false;
}

const chain = chainOfRow({
  stream: 'p.stream',
  symbol: 'p.symbol',
  toAddress: 'p.to_address',
  feeSymbol: 'p.fee_symbol',
});

/**
 * Assigns chains to the rows of the CTE `page`. A row that was changed meanwhile has the chain that its writer found.
 */
const assigned = sql`${knownChains},
found as materialized (
  select f.order_no, f.symbol, f.slip44, ${contractOfRow('f.slip44', 'f.symbol')} as contract_address
    from (select p.*, ${chain} as slip44 from page p offset 0) as f
   where f.slip44 is not null
),
locked as materialized (
  select t.order_no, f.slip44, f.contract_address
    from found f join own.transactions t on t.order_no = f.order_no
   where t.order_no = any (array(select order_no from found)) and t.slip44 is null and t.symbol is not distinct from f.symbol
   order by t.order_no for update of t
),
assigned as (
  update own.transactions t set slip44 = l.slip44, contract_address = l.contract_address
    from locked l where t.order_no = l.order_no and t.order_no = any (array(select order_no from locked))
)`;

/** Assigns chains to earlier deposits of new addresses. Returns false if there are no such addresses. */
async function assignByAddress(db: LedgerDb): Promise<boolean> {
  const [batch] = await query(db)`
    with due as materialized (
      select address_key from own.chain_addresses order by address_key limit 500 for update
    ),
    page as materialized (
      select t.order_no, t.stream, t.symbol, t.to_address, t.fee_symbol
        from due d
       cross join lateral (
          select x.* from own.transactions x
           where x.stream = 'deposit' and ledger.address_key(x.to_address) = d.address_key and x.slip44 is null
             and exists (select from own.addresses a where a.address_key = d.address_key
                         having min(a.slip44) = max(a.slip44))
           limit ${batchMax}) as t
       limit ${batchMax}
    ),
    ${assigned},
    done as (
      delete from own.chain_addresses c using due d
       where c.address_key = d.address_key and (select count(*) from page) < ${batchMax}
    )
    select count(*) as ${out('addresses', number)} from due`;
  return (batch?.addresses ?? 0) > 0;
}

/** Assigns chains to the next rows in the order in which they were first seen. */
async function assignNextRows(db: LedgerDb): Promise<void> {
  const [task] = await query(db)`
    select after_first_seen_at::text as ${out('seenAt', text)}, after_order_no as ${out('orderNo', text)},
           repeat_after is not null as ${out('isRepeat', truth)}
      from own.chain_assignments where ${isTaskDue} for update`;
  if (!task) return;
  const [last] = await query(db)`
    with page as materialized (
      select * from (
        select order_no, stream, symbol, to_address, fee_symbol, first_seen_at from own.transactions
         where slip44 is null and (first_seen_at, order_no) > (${task.seenAt}, ${task.orderNo})
         order by first_seen_at fetch first (${batchMax}) rows with ties) as next
       order by first_seen_at, order_no limit ${batchMax}
    ),
    ${assigned}
    select first_seen_at::text as ${out('seenAt', text)}, order_no as ${out('orderNo', text)}
      from page order by page.first_seen_at desc, order_no desc limit 1`;
  if (last)
    await db.execute(sql`
      update own.chain_assignments set after_first_seen_at = ${last.seenAt}, after_order_no = ${last.orderNo}`);
  else if (task.isRepeat) await db.execute(sql`delete from own.chain_assignments`);
  // Transactions that are running now may store rows without having seen the new asset.
  else
    await db.execute(sql`
      update own.chain_assignments
         set after_first_seen_at = '-infinity', after_order_no = '',
             repeat_after = pg_snapshot_xmax(pg_current_snapshot())`);
}
