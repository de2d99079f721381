import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connect-ledger.ts';
import type { DetailedTransaction } from './store-transaction-details.ts';
import { array, uniqueNewest, usedAddresses } from './transaction-statement.ts';

/**
 * Fills the empty fields of stored transactions from old answers; a field that has a value keeps it, and so does the
 * fence. A filled row is due for a fresh detail. Returns the order numbers, of all rows given, that the ledger has.
 */
export async function fillTransactions(
  db: LedgerDb,
  rows: DetailedTransaction[],
): Promise<Set<string>> {
  const batch = uniqueNewest(rows);
  const found = await db.execute<{ order_no: string }>(sql`
with incoming as (
  select i.*, timestamptz 'epoch' + i.occurred_ms * interval '1 millisecond' as occurred_at
    from unnest(
      ${array(batch, (row) => row.orderNo)}::text[], ${array(batch, (row) => row.requestId)}::text[],
      ${array(batch, (row) => row.symbol)}::text[], ${array(batch, (row) => row.txHash)}::text[],
      ${array(batch, (row) => row.fromAddress)}::text[], ${array(batch, (row) => row.toAddress)}::text[],
      ${array(batch, (row) => row.amount)}::numeric[], ${array(batch, (row) => row.type)}::text[],
      ${array(batch, (row) => row.state)}::text[], ${array(batch, (row) => row.confirmNum)}::integer[],
      ${array(batch, (row) => row.fee)}::numeric[], ${array(batch, (row) => row.feeSymbol)}::text[],
      ${array(batch, (row) => row.occurredAt)}::bigint[]
    ) as i (order_no, request_id, symbol, tx_hash, from_address, to_address, amount, type, state, confirm_num, fee,
            fee_symbol, occurred_ms)
),
stored as (
  select t.order_no,
         coalesce(t.request_id, i.request_id) as request_id, coalesce(t.symbol, i.symbol) as symbol,
         coalesce(t.tx_hash, i.tx_hash) as tx_hash, coalesce(t.from_address, i.from_address) as from_address,
         coalesce(t.to_address, i.to_address) as to_address, coalesce(t.amount, i.amount) as amount,
         coalesce(t.type, i.type) as type, coalesce(t.state, i.state) as state,
         coalesce(t.confirm_num, i.confirm_num) as confirm_num, coalesce(t.fee, i.fee) as fee,
         coalesce(t.fee_symbol, i.fee_symbol) as fee_symbol, coalesce(t.occurred_at, i.occurred_at) as occurred_at
    from incoming i join ledger.transactions t on t.order_no = i.order_no
   order by t.order_no
     for update of t
),
filled as (
  update ledger.transactions t
     set request_id = s.request_id, symbol = s.symbol, tx_hash = s.tx_hash, from_address = s.from_address,
         to_address = s.to_address, amount = s.amount, type = s.type, state = s.state, confirm_num = s.confirm_num,
         fee = s.fee, fee_symbol = s.fee_symbol, occurred_at = s.occurred_at,
         is_final = case when t.state is not null then t.is_final
                         else exists (select from ledger.final_states f where f.state = lower(btrim(s.state))) end,
         seal = null, next_check_at = now(), changed_at = now(), observed_at = now()
    from stored s
   where t.order_no = s.order_no
     and (s.request_id, s.symbol, s.tx_hash, s.from_address, s.to_address, s.amount, s.type, s.state, s.confirm_num,
          s.fee, s.fee_symbol, s.occurred_at)
         is distinct from
         (t.request_id, t.symbol, t.tx_hash, t.from_address, t.to_address, t.amount, t.type, t.state, t.confirm_num,
          t.fee, t.fee_symbol, t.occurred_at)
  returning t.order_no, t.stream, t.to_address
),
${usedAddresses(sql`filled`)}
select order_no from stored`);
  return new Set(found.rows.map((row) => row.order_no));
}
