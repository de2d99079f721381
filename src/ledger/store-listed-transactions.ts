import { type SQL, sql } from 'drizzle-orm';
import type { TransactionRecord } from '../kernel/wallet-records.ts';
import type { LedgerDb } from './connect-ledger.ts';
import {
  array,
  changedFields,
  mergedExtra,
  uniqueNewest,
  usedAddresses,
} from './transaction-statement.ts';

export type TransactionStream = 'deposit' | 'withdraw';
export type ListedTransaction = TransactionRecord & { observation: number };
export type StoredCounts = { inserted: number; updated: number };

/** A batch loses a new row to another writer only while both store it for the first time. */
const lostRaceRunsMax = 5;

/**
 * Stores rows of a list (section 2.4 of the service's document): inserts what is new, updates what differs and
 * was not written by a later answer, logs each changed field and keeps the addresses' use, all in one statement. Rows
 * that are equal are not even locked. Triggers keep the counts. Call it inside a transaction together with the
 * checkpoint. A null never replaces a value: a list row does not blank what a detail brought.
 */
export function storeListedTransactions(
  db: LedgerDb,
  stream: TransactionStream,
  rows: ListedTransaction[],
): Promise<StoredCounts> {
  return prepareListedTransactions(stream, rows)(db);
}

/** As `storeListedTransactions`, with the statement built before the transaction is begun. */
export function prepareListedTransactions(
  stream: TransactionStream,
  rows: ListedTransaction[],
): (db: LedgerDb) => Promise<StoredCounts> {
  const batch = uniqueNewest(rows);
  if (batch.length === 0) return async () => ({ inserted: 0, updated: 0 });
  const statement = listStatement(stream, batch);
  return (db) => runStatement(db, statement);
}

async function runStatement(db: LedgerDb, statement: SQL): Promise<StoredCounts> {
  const counts: StoredCounts = { inserted: 0, updated: 0 };
  for (let run = 1; run <= lostRaceRunsMax; run += 1) {
    const result = await db.execute<{ inserted: number; updated: number; unknown: number }>(
      statement,
    );
    const row = result.rows[0];
    if (!row) break;
    counts.inserted += row.inserted;
    counts.updated += row.updated;
    // Someone else inserted some of them meanwhile: they are visible now, and compared on the next run.
    if (row.unknown === row.inserted) break;
  }
  return counts;
}

function listStatement(stream: TransactionStream, batch: ListedTransaction[]): SQL {
  return sql`
with incoming as (
  select i.*,
         case lower(btrim(i.type)) when 'deposit' then 'deposit' when 'withdraw' then 'withdraw'
              else ${stream}::text end as stream,
         exists (select from ledger.final_states f where f.state = lower(btrim(i.state))) as is_final,
         (select true from ledger.transactions t where t.order_no = i.order_no) is not null as is_known
    from unnest(
      ${array(batch, (row) => row.orderNo)}::text[], ${array(batch, (row) => row.requestId)}::text[],
      ${array(batch, (row) => row.symbol)}::text[], ${array(batch, (row) => row.txHash)}::text[],
      ${array(batch, (row) => row.fromAddress)}::text[], ${array(batch, (row) => row.toAddress)}::text[],
      ${array(batch, (row) => row.amount)}::numeric[], ${array(batch, (row) => row.type)}::text[],
      ${array(batch, (row) => row.state)}::text[], ${array(batch, (row) => row.occurredAt)}::bigint[],
      ${array(batch, (row) => row.extra)}::jsonb[], ${array(batch, (row) => row.observation)}::bigint[]
    ) as i (order_no, request_id, symbol, tx_hash, from_address, to_address, amount, type, state, occurred_ms,
            extra, observation)
),
stored as (
  select t.order_no, t.stream, t.request_id, t.symbol, t.tx_hash, t.from_address, t.to_address, t.amount, t.type,
         t.state, t.is_final, t.occurred_at, t.extra, t.is_listed,
         i.request_id as new_request_id, i.symbol as new_symbol, i.tx_hash as new_tx_hash,
         i.from_address as new_from_address, i.to_address as new_to_address, i.amount as new_amount,
         i.type as new_type, i.state as new_state, ${occurredAt} as new_occurred_at,
         ${mergedExtra} as new_extra, i.observation as new_observation,
         case when i.type is null then t.stream else i.stream end as new_stream,
         case when i.state is null then t.is_final else i.is_final end as new_is_final
    from incoming i join ledger.transactions t on t.order_no = i.order_no
   where i.is_known and i.observation > t.observation
     and (not t.is_listed
       or (coalesce(i.request_id, t.request_id), coalesce(i.symbol, t.symbol), coalesce(i.tx_hash, t.tx_hash),
           coalesce(i.from_address, t.from_address), coalesce(i.to_address, t.to_address),
           coalesce(i.amount, t.amount), coalesce(i.type, t.type), coalesce(i.state, t.state),
           coalesce(${occurredAt}, t.occurred_at), coalesce(${mergedExtra}, t.extra))
          is distinct from
          (t.request_id, t.symbol, t.tx_hash, t.from_address, t.to_address, t.amount, t.type, t.state,
           t.occurred_at, t.extra))
   order by t.order_no
     for update of t
),
updated as (
  update ledger.transactions t
     set stream = s.new_stream,
         request_id = coalesce(s.new_request_id, t.request_id),
         symbol = coalesce(s.new_symbol, t.symbol),
         tx_hash = coalesce(s.new_tx_hash, t.tx_hash),
         from_address = coalesce(s.new_from_address, t.from_address),
         to_address = coalesce(s.new_to_address, t.to_address),
         amount = coalesce(s.new_amount, t.amount),
         type = coalesce(s.new_type, t.type),
         state = coalesce(s.new_state, t.state),
         occurred_at = coalesce(s.new_occurred_at, t.occurred_at),
         extra = coalesce(s.new_extra, t.extra),
         is_final = s.new_is_final,
         seal = null,
         is_listed = true,
         next_check_at = now(),
         changed_at = now(),
         observed_at = now(),
         observation = s.new_observation
    from stored s
   where t.order_no = s.order_no
  returning t.order_no, t.stream, t.to_address
),
inserted as (
  insert into ledger.transactions (order_no, stream, request_id, symbol, tx_hash, from_address, to_address, amount,
    type, state, occurred_at, extra, is_final, next_check_at, first_seen_at, changed_at, observed_at, observation)
  select i.order_no, i.stream, i.request_id, i.symbol, i.tx_hash, i.from_address, i.to_address, i.amount,
         i.type, i.state, ${occurredAt}, i.extra, i.is_final, now(), now(), now(), now(), i.observation
    from incoming i
   where not i.is_known
   order by i.order_no
  on conflict (order_no) do nothing
  returning order_no, stream, to_address
),
${logged},
${marked},
counted as (
  update ledger.streams s set final_changes = s.final_changes + l.count
    from (select new_stream as name, count(*) as count from stored where is_final and new_state <> state
           group by new_stream order by new_stream) l
   where s.name = l.name
)
select (select count(*)::int from inserted) as inserted,
       (select count(*)::int from updated) as updated,
       (select count(*)::int from incoming where not is_known) as unknown`;
}

// Of the same words for every batch: built once.
const logged = changedFields([
  'request_id',
  'symbol',
  'tx_hash',
  'from_address',
  'to_address',
  'amount',
  'type',
  'state',
  'occurred_at',
  'extra',
]);
const marked = usedAddresses(sql`(select * from inserted union all select * from updated)`);
const occurredAt = sql`(timestamptz 'epoch' + i.occurred_ms * interval '1 millisecond')`;

/**
 * Lets the planner know what a backfill has brought, by the columns that sums and searches go by; the server's own
 * analysis of all columns follows. Without the right to it, or while a vacuum runs, it stays as it was.
 */
export async function analyzeTransactions(db: LedgerDb): Promise<void> {
  await db.execute(sql`
    analyze (skip_locked) ledger.transactions
      (stream, symbol, fee_symbol, state, is_final, is_listed, occurred_at, next_check_at, detail_synced_at)`);
}
