import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { each, filledByFirstDetail, keptWords } from './answer-words.ts';
import type { DetailedTransaction } from './store-transaction-details.ts';
import { array, changedFields, uniqueNewest } from './transaction-statement.ts';

const logged = changedFields(
  [
    'request_id',
    'symbol',
    'tx_hash',
    'from_address',
    'to_address',
    'amount',
    'type',
    'state',
    'confirm_num',
    'fee',
    'fee_symbol',
    'occurred_at',
  ],
  { hasFirstDetail: true },
);

/** Leaves a field empty if a later answer has emptied it. */
const valueAfterFilling = (column: string) =>
  `coalesce(t.${column}, case when '${column}' <> all(e.emptied) then i.${column} end) as new_${column}`;

/**
 * Fills the empty fields of stored transactions from old answers. A field with a value keeps it, and the row keeps its
 * observation. Logs the filled fields, except those of a first detail, and makes the row due for a new detail. Returns
 * those of the given order numbers that the ledger has.
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
heard as (
  select t.order_no, t.list_word, t.detail_word, t.detail_synced_at, t.extra, t.extra as new_extra,
         ${each('any', (c) => `t.${c}`)}, ${each('any', valueAfterFilling)},
         t.detail_synced_at is null and t.first_detail_at is null
           and coalesce(i.confirm_num::text, i.fee::text, i.fee_symbol) is not null as is_first_detail
    from incoming i join ledger.transactions t on t.order_no = i.order_no
   cross join lateral (select coalesce(array_agg(c.field), '{}') as emptied from ledger.transaction_changes c
                        where c.order_no = i.order_no and c.new_value is null) as e
   order by t.order_no
     for update of t
),
stored as (
  select h.*, ${keptWords('list', 'h')} as new_list_word, ${keptWords('detail', 'h')} as new_detail_word,
         case when h.is_first_detail then ${filledByFirstDetail('h')} end as filled
    from heard h
   where (${each('any', (c) => `h.new_${c}`)}) is distinct from (${each('any', (c) => `h.${c}`)})
),
filled as (
  update ledger.transactions t
     set ${each('any', (c) => `${c} = s.new_${c}`)},
         list_word = s.new_list_word, detail_word = s.new_detail_word,
         first_detail_at = case when s.is_first_detail then now() else t.first_detail_at end,
         first_detail_filled = case when s.is_first_detail then s.filled else t.first_detail_filled end,
         is_final = case when t.state is not null then t.is_final
                         else exists (select from ledger.final_states f where f.state = lower(btrim(s.new_state))) end,
         seal = null, next_check_at = now(), changed_at = now(), observed_at = now()
    from stored s
   where t.order_no = s.order_no
),
${logged}
select order_no from heard`);
  return new Set(found.rows.map((row) => row.order_no));
}
