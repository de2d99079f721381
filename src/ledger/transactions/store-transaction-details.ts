import { sql } from 'drizzle-orm';
import type { TransactionDetailRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import {
  each,
  filledByFirstDetail,
  keptWords,
  lastWords,
  unreadableOf,
  wordsAndValues,
  wordsBeside,
} from './answer-words.ts';
import { isTampered, rowHashOf } from './row-seal.ts';
import { array, changedFields, mergedExtra, uniqueNewest } from './transaction-statement.ts';

export type DetailedTransaction = TransactionDetailRecord & { observation: number };

/**
 * Time of the next check of a row that is not final. The interval is half the time since the last change, at least 15 s
 * and at most 1 h. Intervals grow without further state, and start again with every change.
 */
const nextCheck = (changedAt: ReturnType<typeof sql>) =>
  sql`now() + least(interval '1 hour', greatest(interval '15 seconds', (now() - ${changedAt}) / 2))`;

/**
 * Claims up to `limit` rows whose detail is due, longest due first, and returns their order numbers. Postpones them by
 * `leaseMs`, so that other workers claim other rows. They are due again if this worker dies.
 */
export async function claimDueDetails(
  db: LedgerDb,
  limit: number,
  leaseMs: number,
): Promise<string[]> {
  const claimed = await db.execute<{ order_no: string }>(sql`
    with due as (
      select order_no from ledger.transactions
       where next_check_at <= now()
       order by next_check_at
       limit ${limit}
         for update skip locked
    )
    update ledger.transactions t
       set next_check_at = now() + ${leaseMs} * interval '1 millisecond'
      from due where t.order_no = due.order_no
    returning t.order_no`);
  return claimed.rows.map((row) => row.order_no);
}

// The statement parts below are the same for every batch, so they are built once.
const logged = changedFields(
  [
    'request_id',
    'symbol',
    'tx_hash',
    'from_address',
    'to_address',
    'amount',
    'state',
    'confirm_num',
    'fee',
    'fee_symbol',
    'occurred_at',
    'extra',
  ],
  { hasFirstDetail: true },
);
const seal = rowHashOf((name) => sql.raw(name === 'order_no' ? 's.order_no' : `s.new_${name}`));

/** Rows, locked, with their values before and after. */
const stored = sql`heard as (
  select t.order_no, t.stream, t.is_final, t.extra, t.list_word, t.detail_word, t.detail_synced_at, t.first_detail_at,
         ${wordsAndValues('detail')},
         ${mergedExtra} as merged_extra, i.observation as new_observation, i.is_final as is_word_final,
         t.detail_synced_at is null and t.first_detail_at is null as is_first_detail,
         t.seal is null or ${isTampered('t')} as is_unsealed
    from incoming i join ledger.transactions t on t.order_no = i.order_no
   ${lastWords('detail')}
   where i.observation > t.observation
   order by t.order_no
     for update of t
),
compared as (
  select h.*, (${each('detail', (c) => `h.new_${c}`)}) is distinct from (${each('detail', (c) => `h.${c}`)}) as differs
    from heard h
),
judged as (
  select c.*,
         case when c.differs or c.is_unsealed then coalesce(c.merged_extra, c.extra) else c.extra end as new_extra,
         case when c.new_state is not distinct from c.state then c.is_final else c.is_word_final end as new_is_final,
         ${wordsBeside('detail', 'c')} as new_detail_word, ${keptWords('list', 'c')} as new_list_word
    from compared c
),
stored as (
  select j.*, j.differs or j.new_extra is distinct from j.extra as has_changed,
         case when j.is_first_detail then ${filledByFirstDetail('j')} end as filled
    from judged j
)`;

/**
 * Stores fetched details (docs/wallet-service-api.md, section 2.3) in one statement: values, log of changes, and next
 * check. A row with a final state gets no next check. An answer older than the last one that wrote the row is ignored,
 * and the row stays due. Undocumented fields alone are no change; they are stored with the next change, or when the
 * detail seals the row again. Returns the number of rows whose values changed.
 */
export async function storeTransactionDetails(
  db: LedgerDb,
  rows: DetailedTransaction[],
): Promise<number> {
  const batch = uniqueNewest(rows);
  if (batch.length === 0) return 0;
  const result = await db.execute<{ changed: number }>(sql`
with incoming as (
  select i.*, timestamptz 'epoch' + i.occurred_ms * interval '1 millisecond' as occurred_at,
         exists (select from ledger.final_states f where f.state = lower(btrim(i.state))) as is_final
    from unnest(
      ${array(batch, (row) => row.orderNo)}::text[], ${array(batch, (row) => row.requestId)}::text[],
      ${array(batch, (row) => row.symbol)}::text[], ${array(batch, (row) => row.txHash)}::text[],
      ${array(batch, (row) => row.fromAddress)}::text[], ${array(batch, (row) => row.toAddress)}::text[],
      ${array(batch, (row) => row.amount)}::numeric[], ${array(batch, (row) => row.state)}::text[],
      ${array(batch, (row) => row.confirmNum)}::integer[], ${array(batch, (row) => row.fee)}::numeric[],
      ${array(batch, (row) => row.feeSymbol)}::text[], ${array(batch, (row) => row.occurredAt)}::bigint[],
      ${array(batch, (row) => row.extra)}::jsonb[], ${array(batch, (row) => row.observation)}::bigint[],
      ${array(batch, unreadableOf)}::text[]
    ) as i (order_no, request_id, symbol, tx_hash, from_address, to_address, amount, state, confirm_num, fee,
            fee_symbol, occurred_ms, extra, observation, unreadable)
),
${stored},
updated as (
  update ledger.transactions t
     set ${each('detail', (c) => `${c} = s.new_${c}`)},
         extra = s.new_extra, is_final = s.new_is_final, list_word = s.new_list_word, detail_word = s.new_detail_word,
         first_detail_at = case when s.is_first_detail then now() else t.first_detail_at end,
         first_detail_filled = case when s.is_first_detail then s.filled else t.first_detail_filled end,
         seal = ${seal},
         detail_synced_at = now(),
         changed_at = case when s.has_changed then now() else t.changed_at end,
         next_check_at = case
           when s.new_is_final then null
           when s.differs then now() + interval '15 seconds'
           else ${nextCheck(sql`t.changed_at`)}
         end,
         observed_at = now(),
         observation = s.new_observation
    from stored s
   where t.order_no = s.order_no
  returning s.differs
),
${logged},
counted as (
  update ledger.streams s set final_changes = s.final_changes + j.count
    from (select stream, count(*) as count from stored where is_final and new_state <> state group by stream) j
   where s.name = j.stream
)
select (select count(*)::int from updated where differs) as changed`);
  return result.rows[0]?.changed ?? 0;
}

/** Makes rows due at once that another program has written since their detail was stored. */
export async function recheckAltered(db: LedgerDb, orderNos: string[]): Promise<void> {
  await db.execute(sql`
    update ledger.transactions t set next_check_at = now(), seal = null
     where order_no = any(${sql.param(orderNos)}::text[]) and ${isTampered('t')}`);
}

/** Postpones rows whose detail the service did not return, as if it had returned an unchanged one. */
export async function postponeDetails(db: LedgerDb, orderNos: string[]): Promise<void> {
  if (orderNos.length === 0) return;
  await db.execute(sql`
    update ledger.transactions t set next_check_at = ${nextCheck(sql`t.changed_at`)}
     where order_no = any(${sql.param(orderNos)}::text[])`);
}

/** Releases rows that were claimed and not fetched; they are due at once. */
export async function releaseDetails(db: LedgerDb, orderNos: string[]): Promise<void> {
  if (orderNos.length === 0) return;
  await db.execute(sql`
    update ledger.transactions set next_check_at = now()
     where next_check_at is not null and order_no = any(${sql.param(orderNos)}::text[])`);
}

/**
 * Makes rows without a detail due at once, because a worker may have claimed them before it died. Does nothing while
 * another process uses this database: the claims could be its own.
 */
export async function releaseAbandonedDetails(db: LedgerDb, instance: string): Promise<void> {
  await db.execute(sql`
    update ledger.transactions set next_check_at = now()
     where next_check_at > now() and detail_synced_at is null
       and not exists (select from pg_stat_activity
                        where datname = current_database() and application_name like 'wallet-ledger %'
                          and application_name <> ${instance})`);
}

/** Counts the rows due now, all rows whose final detail is still to be fetched, and the final ones among these. */
export async function countIncomplete(
  db: LedgerDb,
): Promise<{ due: number; incomplete: number; finalIncomplete: number }> {
  const result = await db.execute<{
    due: number;
    incomplete: number;
    final_incomplete: number;
  }>(sql`
    select count(*) filter (where next_check_at <= now())::int as due,
           count(*)::int as incomplete,
           count(*) filter (where is_final)::int as final_incomplete
      from ledger.transactions where next_check_at is not null`);
  const row = result.rows[0];
  return {
    due: row?.due ?? 0,
    incomplete: row?.incomplete ?? 0,
    finalIncomplete: row?.final_incomplete ?? 0,
  };
}
