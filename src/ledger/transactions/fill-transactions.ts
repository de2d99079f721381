import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { out, query, text } from '../connection/query-rows.ts';
import { answersOf, columnsOf, each, filledByFirstDetail, keptWords } from './answer-words.ts';
import { dueAtOnce, turn } from './detail-checks.ts';
import { keptOrRechained, knownChains, rechained } from './row-chain.ts';
import type { DetailedTransaction } from './store-transaction-details.ts';
import { changedFields, uniqueNewest } from './transaction-statement.ts';

const logged = changedFields(columnsOf('any'), { hasFirstDetail: true });

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
  const found = await query(db)`
with ${knownChains},
incoming as (select * from ${answersOf('any', batch)}),
heard as (
  select t.order_no, t.stream, t.slip44, t.list_word, t.detail_word, t.detail_synced_at, t.extra, t.extra as new_extra,
         ${each('any', (c) => `t.${c}`)}, ${each('any', valueAfterFilling)},
         t.detail_synced_at is null and t.first_detail_at is null
           and coalesce(i.confirm_num::text, i.fee::text, i.fee_symbol) is not null as is_first_detail
    from incoming i join own.transactions t on t.order_no = i.order_no
   cross join lateral (select coalesce(array_agg(c.field), '{}') as emptied from own.transaction_changes c
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
${rechained},
filled as (
  update own.transactions t
     set ${each('any', (c) => `${c} = s.new_${c}`)},
         list_word = s.new_list_word, detail_word = s.new_detail_word,
         first_detail_at = case when s.is_first_detail then now() else t.first_detail_at end,
         first_detail_filled = case when s.is_first_detail then s.filled else t.first_detail_filled end,
         is_final = case when t.state is null then f.state is not null else t.is_final end,
         is_success = case when t.state is null then coalesce(f.is_success, false) else t.is_success end,
         seal = null, changed_at = now(), observed_at = now(),
         ${keptOrRechained}
    from rechained s
    left join own.final_states f on f.state = lower(btrim(s.new_state))
   where t.order_no = s.order_no
  returning t.order_no, t.is_final
),
${dueAtOnce('due', sql`select order_no, is_final, ${turn.news}::smallint from filled`)},
${logged}
select order_no as ${out('orderNo', text)} from heard`;
  return new Set(found.map((row) => row.orderNo));
}
