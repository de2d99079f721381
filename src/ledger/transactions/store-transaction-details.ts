import { sql } from 'drizzle-orm';
import type { TransactionDetailRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, out, query } from '../connection/query-rows.ts';
import {
  answersOf,
  columnsOf,
  each,
  filledByFirstDetail,
  lastWords,
  wordsAndValues,
  wordsBeside,
} from './answer-words.ts';
import { dueAtOnce, turn } from './detail-checks.ts';
import { isContradicted, listWordAfterDetail } from './list-marks.ts';
import { keptOrRechained, knownChains, rechained } from './row-chain.ts';
import { isTampered, rowHashOf } from './row-seal.ts';
import {
  changedFields,
  isAfterLastDetail,
  mergedExtra,
  uniqueNewest,
} from './transaction-statement.ts';

export type DetailedTransaction = TransactionDetailRecord & { observation: number };

// The statement parts below are the same for every batch, so they are built once.
const logged = changedFields([...columnsOf('detail'), 'extra'], { hasFirstDetail: true });
const seal = rowHashOf((name) => sql.raw(name === 'order_no' ? 's.order_no' : `s.new_${name}`));

/** Rows, locked, with their values before and after. */
const stored = sql`heard as (
  select t.order_no, t.stream, t.is_final, t.is_success, t.extra, t.list_word, t.detail_word, t.detail_synced_at, t.first_detail_at,
         t.slip44,
         ${wordsAndValues('detail')},
         ${mergedExtra} as merged_extra, i.observation as new_observation, i.is_final as is_word_final,
         i.is_success as is_word_success,
         t.detail_synced_at is null and t.first_detail_at is null as is_first_detail,
         t.seal is null or ${isTampered('t')} as is_unsealed, t.changed_at,
         t.detail_synced_at is null or t.detail_synced_at < t.changed_at as is_awaited,
         i.unreadable is not null as is_unreadable
    from incoming i join own.transactions t on t.order_no = i.order_no
    left join own.detail_checks c on c.order_no = i.order_no
   ${lastWords('detail')}
   where i.observation > greatest(t.observation, c.observation)
   order by t.order_no
     for update of t
),
compared as (
  select h.*, (${each('detail', (c) => `h.new_${c}`)}) is distinct from (${each('detail', (c) => `h.${c}`)}) as differs
    from heard h
   where ${isAfterLastDetail('h')}
),
judged as (
  select c.*,
         case when c.differs or c.is_unsealed then coalesce(c.merged_extra, c.extra) else c.extra end as new_extra,
         case when c.new_state is not distinct from c.state then c.is_final else c.is_word_final end as new_is_final,
         case when c.new_state is not distinct from c.state then c.is_success else c.is_word_success end as new_is_success,
         ${wordsBeside('detail', 'c')} as new_detail_word
    from compared c
),
worded as (
  select j.*, ${listWordAfterDetail('j')} as new_list_word from judged j
),
stored as (
  select j.*, j.differs or j.new_extra is distinct from j.extra as has_changed,
         j.is_unsealed or j.is_awaited or (j.new_list_word, j.new_detail_word) is distinct from (j.list_word, j.detail_word)
           -- An unreadable field keeps its value: the observation alone shows that older answers come too late.
           or (j.is_unreadable and j.new_is_final)
           -- Equal numbers may have other digits.
           or (j.new_amount::text, j.new_fee::text) is distinct from (j.amount::text, j.fee::text) as is_news,
         case when j.is_first_detail then ${filledByFirstDetail('j')} end as filled
    from worded j
)`;

/** Rows whose detail is not the last word: they are not final, or the detail has taken back values of the list. */
const isCheckedAgain = sql`(not s.new_is_final or ${isContradicted('s.new_list_word')})`;
/**
 * Time of the next check of such a row. The interval is half the time since the last change, at least 15 s and at most
 * 1 h; of a final row it is the whole time. Intervals grow without further state, and start again with every change.
 */
const nextCheck = sql`now() + case when s.differs then interval '15 seconds'
    when s.new_is_final then greatest(interval '15 seconds', now() - s.changed_at)
    else least(interval '1 hour', greatest(interval '15 seconds', (now() - s.changed_at) / 2)) end`;
const checkedAgain = sql`checked_again as (
  insert into own.detail_checks as c (order_no, is_final, turn, due_at, observation)
  select s.order_no, false, ${turn.open}::smallint, ${nextCheck}, s.new_observation
    from stored s where ${isCheckedAgain}
   order by 1
  on conflict (wallet, order_no) do update
    set is_final = false, turn = excluded.turn, due_at = excluded.due_at, claimed_until = null, refusals = 0,
        observation = excluded.observation
)`;

/**
 * Stores fetched details (docs/wallet-service-api.md, section 2.3) in one statement: values, log of changes, and next
 * check. A row with a final state gets no next check, unless the detail
 * has taken back values of the list. A detail that brings nothing new writes only the next check. An
 * answer older than the last one of the row is ignored, and the row stays due. Undocumented fields alone are no change;
 * they are stored with the next change, or when the detail seals the row again. Returns the number of rows whose values
 * changed.
 */
export async function storeTransactionDetails(
  db: LedgerDb,
  rows: DetailedTransaction[],
): Promise<number> {
  const batch = uniqueNewest(rows);
  if (batch.length === 0) return 0;
  const [result] = await query(db)`
with ${knownChains},
incoming as (
  select i.*,
         f.state is not null as is_final, coalesce(f.is_success, false) as is_success
    from ${answersOf('detail', batch, 'extra', 'observation')}
    left join own.final_states f on f.state = lower(btrim(i.state))
),
${stored},
${rechained},
updated as (
  update own.transactions t
     set ${each('detail', (c) => `${c} = s.new_${c}`)},
         extra = s.new_extra, is_final = s.new_is_final, is_success = s.new_is_success,
         list_word = s.new_list_word, detail_word = s.new_detail_word,
         first_detail_at = case when s.is_first_detail then now() else t.first_detail_at end,
         first_detail_filled = case when s.is_first_detail then s.filled else t.first_detail_filled end,
         seal = ${seal},
         detail_synced_at = now(),
         changed_at = case when s.has_changed then now() else t.changed_at end,
         observed_at = now(),
         observation = s.new_observation,
         ${keptOrRechained}
    from rechained s
   where t.order_no = s.order_no and (s.has_changed or s.is_news)
  returning s.differs
),
done as (
  delete from own.detail_checks c using stored s where c.order_no = s.order_no and not ${isCheckedAgain}
),
${checkedAgain},
${logged},
counted as (
  update own.streams s set final_changes = s.final_changes + j.count
    from (select stream, count(*) as count from stored where is_final and new_state <> state group by stream) j
   where s.name = j.stream
)
select (select count(*) from updated where differs) as ${out('changed', number)}`;
  return result?.changed ?? 0;
}

/** Makes the details of rows due at once that another program has changed since their detail was stored. */
export async function recheckAltered(db: LedgerDb, orderNos: string[]): Promise<void> {
  await db.execute(sql`
    with altered as (
      update own.transactions t set seal = null
       where order_no = any(${sql.param(orderNos)}::text[]) and ${isTampered('t')}
      returning order_no, is_final
    ),
    ${dueAtOnce('due', sql`select order_no, is_final, ${turn.news}::smallint from altered`)}
    select from altered`);
}
