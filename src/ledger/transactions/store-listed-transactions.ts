import { sql } from 'drizzle-orm';
import type { TransactionType } from '../../kernel/vocabulary.ts';
import type { TransactionRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { isKeyTaken } from '../connection/postgres-codes.ts';
import { number, out, query, runStatement, statement, truth } from '../connection/query-rows.ts';
import { StoredMeanwhile } from '../connection/run-transaction.ts';
import {
  answersOf,
  anyOf,
  columnsOf,
  each,
  keptWords,
  lastWords,
  wordsAndValues,
  wordsBeside,
} from './answer-words.ts';
import { dueAtOnce, turn } from './detail-checks.ts';
import { isListNews, isOutdatedWord } from './list-marks.ts';
import { chainOfRow, contractOfRow, keptOrRechained, knownChains, rechained } from './row-chain.ts';
import {
  changedFields,
  isAfterLastDetail,
  mergedExtra,
  uniqueNewest,
} from './transaction-statement.ts';

export type ListedTransaction = TransactionRecord & { observation: number };
type StoredCounts = { inserted: number; updated: number };
/** `hasOpenRejects`: the ledger has rejects that the rows may settle. */
type StoredRows = StoredCounts & { hasOpenRejects: boolean };

const nothingStored: StoredRows = { inserted: 0, updated: 0, hasOpenRejects: false };

/**
 * Stores rows of a list (docs/wallet-service-api.md, section 2.4) in one statement. Inserts new rows, updates fields
 * whose list value differs from the list's last one, and logs each changed field. A row that an answer with a higher
 * observation wrote keeps its values. Rows with a repeated list row are not locked. Undocumented fields alone are no
 * change; they are stored with the next change. A null never empties a field that only a detail filled. Call it inside
 * a transaction together with the checkpoint. Throws `StoredMeanwhile` if another writer stored some of the new rows
 * first; the transaction is then retried.
 */
export async function storeListedTransactions(
  db: LedgerDb,
  stream: TransactionType,
  rows: ListedTransaction[],
): Promise<StoredCounts> {
  const { inserted, updated } = await prepareListedTransactions(stream, rows)(db);
  return { inserted, updated };
}

/**
 * Builds the statement of `storeListedTransactions` before the transaction begins, and returns the function that runs
 * it. `isScanned`: a scan of the list has ended. If no scan is ever clean, the row's time then decides if it belongs to
 * the history.
 */
export function prepareListedTransactions(
  stream: TransactionType,
  rows: ListedTransaction[],
  isScanned = false,
): (db: LedgerDb) => Promise<StoredRows> {
  const batch = uniqueNewest(rows);
  if (batch.length === 0) return async () => nothingStored;
  const store = listStatement(stream, batch, isScanned);
  return (db) => runListStatement(db, store);
}

/**
 * Returns true if storing the rows would change nothing: the ledger has them as the list shows them, and no reject that
 * they may settle. Takes no lock. `offset 0` lets each row be found by its key: a scan reads the rows of all wallets.
 */
export async function areListedAsStored(
  db: LedgerDb,
  stream: TransactionType,
  rows: ListedTransaction[],
): Promise<boolean> {
  const [compared] = await query(db)`/* planned anew */
    select not exists (select from own.rejects r where r.resolved_at is null)
           and not exists (
             select from ${answersOf('list', uniqueNewest(rows), 'extra', 'observation')}
               left join lateral (
                 select * from own.transactions t where t.order_no = i.order_no offset 0) as t on true
             ${lastWords('list')}
              where t.order_no is null
                 or i.observation > t.observation and (not t.is_listed or t.stream <> ${stream} or ${isListNews})
           ) as ${out('isStored', truth)}`;
  return compared?.isStored ?? false;
}

async function runListStatement(
  db: LedgerDb,
  store: ReturnType<typeof listStatement>,
): Promise<StoredRows> {
  try {
    const [counts] = await runStatement(db, store);
    return counts ?? nothingStored;
  } catch (error) {
    // Repeats the whole transaction: a second statement in it would lock rows out of order, so two could deadlock.
    throw isKeyTaken(error) ? new StoredMeanwhile() : error;
  }
}

function listStatement(stream: TransactionType, batch: ListedTransaction[], isScanned: boolean) {
  return statement`
with ${knownChains},
incoming as (
  select i.*,
         ${stream}::text as stream,
         f.state is not null as is_final, coalesce(f.is_success, false) as is_success,
         (select t.stream from own.transactions t where t.order_no = i.order_no) as known_in,
         ${isScanned} and coalesce(i.occurred_at > (select w.first_seen_at from own.wallets w), false) as is_late
    from ${answersOf('list', batch, 'extra', 'observation')}
    left join own.final_states f on f.state = lower(btrim(i.state))
),
${stored},
${updated},
${shared},
${inserted},
${due},
${logged},
counted as (
  update own.streams s set final_changes = s.final_changes + l.count
    from (select new_stream as name, count(*) as count from stored where is_final and new_state <> state
           group by new_stream order by new_stream) l
   where s.name = l.name
)
select (select count(*) from inserted) as ${out('inserted', number)},
       (select count(*) filter (where differs) from updated) as ${out('updated', number)},
       exists (select from own.rejects r where r.resolved_at is null) as ${out('hasOpenRejects', truth)}`;
}

// The statements below are the same for every batch, so they are built once.
/** Rows for which the list brings a new value: locked, with their values before and after. */
const stored = sql`heard as (
  select t.order_no, t.stream, t.is_final, t.is_success, t.is_listed, t.extra, t.list_word, t.detail_word, t.detail_synced_at,
         t.slip44,
         ${wordsAndValues('list')},
         ${mergedExtra} as merged_extra, i.observation as new_observation, i.is_final as is_word_final,
         i.is_success as is_word_success, i.stream as new_stream,
         not t.is_listed or ${isOutdatedWord}
           or ${anyOf('list', (c) => `word.${c} is distinct from said.${c} and word.${c} is distinct from t.${c}`)}
           as is_due
    from incoming i join own.transactions t on t.order_no = i.order_no
   ${lastWords('list')}
   where i.known_in is not null and i.observation > t.observation
     -- A row that another list shows stays there, and is marked below.
     and (not t.is_listed or t.stream = i.stream and (${isListNews}))
   order by t.order_no
     for update of t
),
judged as (
  select h.*, true as new_is_listed,
         case when h.new_state is not distinct from h.state then h.is_final else h.is_word_final end as new_is_final,
         case when h.new_state is not distinct from h.state then h.is_success else h.is_word_success end as new_is_success,
         not h.is_listed
           or (${each('list', (c) => `h.new_${c}`)}) is distinct from (${each('list', (c) => `h.${c}`)}) as differs,
         ${wordsBeside('list', 'h')} as new_list_word, ${keptWords('detail', 'h')} as new_detail_word
    from heard h
   where ${isAfterLastDetail('h')}
),
stored as (
  select j.*, case when j.differs then coalesce(j.merged_extra, j.extra) else j.extra end as new_extra from judged j
)`;
/** Updates the rows. If a list value only caught up with the detail, the row changes in its stored list value alone. */
const updated = sql`${rechained},
updated as (
  update own.transactions t
     set ${each('list', (c) => `${c} = s.new_${c}`)},
         stream = s.new_stream,
         extra = s.new_extra,
         is_final = s.new_is_final,
         is_success = s.new_is_success,
         is_listed = true,
         list_word = s.new_list_word,
         detail_word = s.new_detail_word,
         seal = case when not s.is_due then t.seal end,
         changed_at = case when s.differs then now() else t.changed_at end,
         observed_at = case when s.differs then now() else t.observed_at end,
         observation = s.new_observation,
         ${keptOrRechained}
    from rechained s
   where t.order_no = s.order_no
  returning s.differs
)`;
/** True if the row that two lists show belongs to the second one: each of them shows it with the type of that one. */
const isOfSecond = sql`coalesce(lower(btrim(i.type)) = i.stream and lower(btrim(t.type)) = i.stream, false)`;
/**
 * Marks rows that another list shows, with the type that it gives them. A row belongs to the list that showed it
 * first, or to the one that its type names, until that list no longer shows it (`unlistRows`). The array keeps the
 * planner on the index: a join alone may read the whole table for one row.
 */
const shared = sql`shared as (
  update own.transactions t
     set also_listed_in = case when ${isOfSecond} then t.stream else i.stream end,
         other_list_type = case when ${isOfSecond} then t.type else i.type end,
         stream = case when ${isOfSecond} then i.stream else t.stream end,
         type = case when ${isOfSecond} then i.type else t.type end,
         seal = case when not ${isOfSecond} then t.seal end,
         changed_at = case when ${isOfSecond} then now() else t.changed_at end,
         observed_at = case when ${isOfSecond} then now() else t.observed_at end
    from incoming i
   where t.order_no = any (array(select k.order_no from incoming k where k.known_in <> k.stream))
     and i.known_in <> i.stream and t.order_no = i.order_no
     and t.is_listed and t.stream <> i.stream and i.observation > t.observation
     and ((t.also_listed_in, t.other_list_type) is distinct from (i.stream, i.type) or ${isOfSecond})
  returning t.order_no, t.is_final, t.detail_synced_at, t.also_listed_in, t.stream, t.other_list_type, t.type,
            t.stream = i.stream as has_moved
),
logged_moves as (
  insert into own.transaction_changes (order_no, observed_at, field, old_value, new_value)
  select s.order_no, now(), c.field, c.old_value, c.new_value
    from shared s,
         lateral (values ('stream', s.also_listed_in, s.stream), ('type', s.other_list_type, s.type)
                 ) as c (field, old_value, new_value)
   where s.has_moved and c.old_value is distinct from c.new_value
   order by s.order_no
)`;
// Without a conflict clause, which would cost a tenth of a backfill: another writer's row fails the statement.
const inserted = sql`inserted as (
  insert into own.transactions (order_no, stream, request_id, symbol, tx_hash, from_address, to_address, amount,
    type, state, occurred_at, extra, is_final, is_success, is_backfilled, first_seen_at, changed_at, observed_at,
    observation, slip44, contract_address)
  select i.order_no, i.stream, i.request_id, i.symbol, i.tx_hash, i.from_address, i.to_address, i.amount,
         i.type, i.state, i.occurred_at, i.extra, i.is_final, i.is_success,
         not i.is_late and i.stream not in (select s.name from own.streams s where s.last_walk_at is not null),
         now(), now(), now(), i.observation, i.slip44, ${contractOfRow('i.slip44', 'i.symbol')}
    from (select n.*, ${chainOfRow({ stream: 'n.stream', symbol: 'n.symbol', toAddress: 'n.to_address' })} as slip44
            from incoming n
           where n.known_in is null
          offset 0) as i
   order by i.order_no
  returning order_no, is_final, is_backfilled
)`;
const due = dueAtOnce(
  'due',
  sql`select order_no, is_final, ${turn.news}::smallint from inserted where not (is_final and is_backfilled)
   union all select order_no, new_is_final, ${turn.news}::smallint from stored where is_due
   union all select order_no, is_final, ${turn.news}::smallint from shared
              where has_moved and detail_synced_at is not null`,
);
const logged = changedFields(['stream', ...columnsOf('list'), 'extra', 'is_listed'], {
  hasFirstDetail: false,
});
