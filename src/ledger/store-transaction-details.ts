import { sql } from 'drizzle-orm';
import type { TransactionDetailRecord } from '../kernel/wallet-records.ts';
import type { LedgerDb } from './connect-ledger.ts';
import { isAltered, sealOf } from './row-seal.ts';
import {
  array,
  changedFields,
  mergedExtra,
  uniqueNewest,
  usedAddresses,
} from './transaction-statement.ts';

export type DetailedTransaction = TransactionDetailRecord & { observation: number };

/**
 * A row that is not final is looked at again after half the time it has already stood still, at least 15 s, at
 * most 1 h: intervals grow by themselves and start anew with every change. `changed_at` is the row's own.
 */
const nextCheck = (changedAt: ReturnType<typeof sql>) =>
  sql`now() + least(interval '1 hour', greatest(interval '15 seconds', (now() - ${changedAt}) / 2))`;

/**
 * Takes up to `limit` rows whose detail is due, oldest due first. They are put off by `leaseMs`, so that other
 * workers take others, and come back by themselves should this worker die. Returns their order numbers.
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

// Of the same words for every batch: built once.
const logged = changedFields([
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
]);
const marked = usedAddresses(sql`updated`);
const seal = sealOf((name) => sql.raw(`j.new_${name}`));

/**
 * Stores fetched details (section 2.3 of the service's document) in one statement: the row's values, what changed,
 * and when it is due again, or never when its state is final. An answer older than the one that last wrote the
 * row is left aside; the row stays due. Returns the number of rows whose values changed.
 */
export async function storeTransactionDetails(
  db: LedgerDb,
  rows: DetailedTransaction[],
): Promise<number> {
  const batch = uniqueNewest(rows);
  if (batch.length === 0) return 0;
  const result = await db.execute<{ changed: number }>(sql`
with incoming as (
  select i.*, exists (select from ledger.final_states f where f.state = lower(btrim(i.state))) as is_final
    from unnest(
      ${array(batch, (row) => row.orderNo)}::text[], ${array(batch, (row) => row.requestId)}::text[],
      ${array(batch, (row) => row.symbol)}::text[], ${array(batch, (row) => row.txHash)}::text[],
      ${array(batch, (row) => row.fromAddress)}::text[], ${array(batch, (row) => row.toAddress)}::text[],
      ${array(batch, (row) => row.amount)}::numeric[], ${array(batch, (row) => row.state)}::text[],
      ${array(batch, (row) => row.confirmNum)}::integer[], ${array(batch, (row) => row.fee)}::numeric[],
      ${array(batch, (row) => row.feeSymbol)}::text[], ${array(batch, (row) => row.occurredAt)}::bigint[],
      ${array(batch, (row) => row.extra)}::jsonb[], ${array(batch, (row) => row.observation)}::bigint[]
    ) as i (order_no, request_id, symbol, tx_hash, from_address, to_address, amount, state, confirm_num, fee,
            fee_symbol, occurred_ms, extra, observation)
),
stored as (
  select t.order_no, t.request_id, t.symbol, t.tx_hash, t.from_address, t.to_address, t.amount, t.state,
         t.confirm_num, t.fee, t.fee_symbol, t.occurred_at, t.extra, t.stream, t.is_final, t.type as new_type,
         t.order_no as new_order_no,
         coalesce(i.request_id, t.request_id) as new_request_id,
         coalesce(i.symbol, t.symbol) as new_symbol,
         coalesce(i.tx_hash, t.tx_hash) as new_tx_hash,
         coalesce(i.from_address, t.from_address) as new_from_address,
         coalesce(i.to_address, t.to_address) as new_to_address,
         coalesce(i.amount, t.amount) as new_amount,
         coalesce(i.state, t.state) as new_state,
         coalesce(i.confirm_num, t.confirm_num) as new_confirm_num,
         coalesce(i.fee, t.fee) as new_fee,
         coalesce(i.fee_symbol, t.fee_symbol) as new_fee_symbol,
         coalesce(timestamptz 'epoch' + i.occurred_ms * interval '1 millisecond', t.occurred_at) as new_occurred_at,
         coalesce(${mergedExtra}, t.extra) as new_extra,
         case when i.state is null then t.is_final else i.is_final end as new_is_final,
         i.observation as new_observation
    from incoming i join ledger.transactions t on t.order_no = i.order_no
   where i.observation > t.observation
   order by t.order_no
     for update of t
),
judged as (
  select s.*,
         (new_request_id, new_symbol, new_tx_hash, new_from_address, new_to_address, new_amount, new_state,
          new_confirm_num, new_fee, new_fee_symbol, new_occurred_at, new_extra)
         is distinct from
         (request_id, symbol, tx_hash, from_address, to_address, amount, state, confirm_num, fee, fee_symbol,
          occurred_at, extra) as differs
    from stored s
),
updated as (
  update ledger.transactions t
     set request_id = j.new_request_id, symbol = j.new_symbol, tx_hash = j.new_tx_hash,
         from_address = j.new_from_address, to_address = j.new_to_address, amount = j.new_amount,
         state = j.new_state, confirm_num = j.new_confirm_num, fee = j.new_fee, fee_symbol = j.new_fee_symbol,
         occurred_at = j.new_occurred_at, extra = j.new_extra, is_final = j.new_is_final,
         seal = ${seal},
         detail_synced_at = now(),
         changed_at = case when j.differs then now() else t.changed_at end,
         next_check_at = case
           when j.new_is_final then null
           when j.differs then now() + interval '15 seconds'
           else ${nextCheck(sql`t.changed_at`)}
         end,
         observed_at = now(),
         observation = j.new_observation
    from judged j
   where t.order_no = j.order_no
  returning t.order_no, t.stream, t.to_address, j.differs
),
${logged},
${marked},
counted as (
  update ledger.streams s set final_changes = s.final_changes + j.count
    from (select stream, count(*) as count from judged where is_final and new_state <> state group by stream) j
   where s.name = j.stream
)
select count(*) filter (where differs)::int as changed from updated`);
  return result.rows[0]?.changed ?? 0;
}

/** Makes rows due at once that somebody else has written since their detail was stored. */
export async function recheckAltered(db: LedgerDb, orderNos: string[]): Promise<void> {
  await db.execute(sql`
    update ledger.transactions t set next_check_at = now(), seal = null
     where order_no = any(${sql.param(orderNos)}::text[]) and ${isAltered('t')}`);
}

/** Puts off rows whose detail the service would not give, as if they had been looked at and found unchanged. */
export async function postponeDetails(db: LedgerDb, orderNos: string[]): Promise<void> {
  if (orderNos.length === 0) return;
  await db.execute(sql`
    update ledger.transactions t set next_check_at = ${nextCheck(sql`t.changed_at`)}
     where order_no = any(${sql.param(orderNos)}::text[])`);
}

/** Gives back rows that were claimed and not fetched: they are due at once. */
export async function releaseDetails(db: LedgerDb, orderNos: string[]): Promise<void> {
  if (orderNos.length === 0) return;
  await db.execute(sql`
    update ledger.transactions set next_check_at = now()
     where next_check_at is not null and order_no = any(${sql.param(orderNos)}::text[])`);
}

/**
 * Makes rows due at once whose detail has never been seen and that a worker may have held when it died; only where
 * no other process is at work on this database, whose claims they could be.
 */
export async function releaseAbandonedDetails(db: LedgerDb, instance: string): Promise<void> {
  await db.execute(sql`
    update ledger.transactions set next_check_at = now()
     where next_check_at > now() and detail_synced_at is null
       and not exists (select from pg_stat_activity
                        where datname = current_database() and application_name like 'wallet-ledger %'
                          and application_name <> ${instance})`);
}

/** Rows due now, and rows that are not complete at all (their detail has not been seen since they became final). */
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
