import { type SQL, sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';

/** A change of a field after the row was first stored. */
type FieldChange = {
  observedAt: string;
  field: string;
  oldValue: string | null;
  newValue: string | null;
};

/**
 * An address of the ledger, found by any spelling; `conflicts` holds all its references if it was handed out more than
 * once.
 */
export type FoundAddress = {
  slip44: number;
  address: string;
  status: string;
  assignedTo: string | null;
  assignedAt: string | null;
  firstDepositOrderNo: string | null;
  /** Id of the address request that generated it; null if this program did not. */
  generatedBy: number | null;
  firstSeenAt: string;
  conflicts: (string | null)[];
};

/** An open reject, without its payload. */
type FoundReject = {
  id: number;
  source: string;
  field: string | null;
  reason: string;
  lastSeenAt: string;
};

/** A stored transaction. Amounts are texts with the service's own digits; times are ISO 8601, UTC. */
export type FoundTransaction = {
  orderNo: string;
  stream: string;
  requestId: string | null;
  symbol: string | null;
  txHash: string | null;
  fromAddress: string | null;
  toAddress: string | null;
  amount: string | null;
  type: string | null;
  state: string | null;
  confirmNum: number | null;
  fee: string | null;
  feeSymbol: string | null;
  occurredAt: string | null;
  isFinal: boolean;
  isSuccess: boolean;
  isListed: boolean;
  isBackfilled: boolean;
  alsoListedIn: string | null;
  detailSyncedAt: string | null;
  firstSeenAt: string;
  changedAt: string;
  observedAt: string;
  extra: unknown;
  /** The detail is still to be fetched, or to be fetched again. */
  isDetailDue: boolean;
  /** Reason why the row's list is not complete; null if it is proven complete or has no stream row yet. */
  notCompleteBecause: string | null;
  /** Latest 200 changes, oldest first. */
  changes: FieldChange[];
  rejects: FoundReject[];
  /** Addresses equal to `toAddress`, on all chains. */
  addresses: FoundAddress[];
};

/**
 * Result of a search. `rejects` belong to an order that is not stored. `isCut`: more transactions match than are
 * returned.
 */
export type FoundRecords = {
  transactions: FoundTransaction[];
  addresses: FoundAddress[];
  rejects: FoundReject[];
  isCut: boolean;
};

const transactionsMax = 50;
const changesMax = 200;

/** Formats a time with milliseconds, which distinguish rows. */
function iso(time: string): SQL {
  return sql`to_char(${sql.raw(time)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

const addressJson = sql`
  json_build_object('slip44', a.slip44, 'address', a.address, 'status', a.status, 'assignedTo', a.assigned_to,
    'assignedAt', ${iso('a.assigned_at')}, 'firstDepositOrderNo', a.first_deposit_order_no,
    'generatedBy', a.generated_by, 'firstSeenAt', ${iso('a.first_seen_at')},
    'conflicts', (select coalesce(json_agg(c.assigned_to order by c.assigned_at), '[]')
                    from ledger.address_conflicts c where c.address_key = a.address_key and c.slip44 = a.slip44))`;

const rejectJson = sql`
  json_build_object('id', r.id, 'source', r.source, 'field', r.field, 'reason', r.reason,
    'lastSeenAt', ${iso('r.last_seen_at')})`;

const transactionColumns = sql`
  t.order_no as "orderNo", t.stream, t.request_id as "requestId", t.symbol, t.tx_hash as "txHash",
  t.from_address as "fromAddress", t.to_address as "toAddress", t.amount::text, t.type, t.state,
  t.confirm_num as "confirmNum", t.fee::text, t.fee_symbol as "feeSymbol", ${iso('t.occurred_at')} as "occurredAt",
  t.is_final as "isFinal",
  exists (select from ledger.final_states f where f.state = lower(btrim(t.state)) and f.is_success) as "isSuccess",
  t.is_listed as "isListed", t.is_backfilled as "isBackfilled", t.also_listed_in as "alsoListedIn",
  ${iso('t.detail_synced_at')} as "detailSyncedAt", ${iso('t.first_seen_at')} as "firstSeenAt",
  ${iso('t.changed_at')} as "changedAt", ${iso('t.observed_at')} as "observedAt", t.extra,
  t.next_check_at is not null as "isDetailDue",
  (select s.not_complete_because from ledger.streams s where s.name = t.stream) as "notCompleteBecause",
  (select coalesce(json_agg(json_build_object('observedAt', ${iso('c.observed_at')}, 'field', c.field,
                              'oldValue', c.old_value, 'newValue', c.new_value) order by c.id), '[]')
     from (select * from ledger.transaction_changes x where x.order_no = t.order_no
            order by x.id desc limit ${changesMax}) as c) as changes,
  (select coalesce(json_agg(${rejectJson} order by r.id), '[]')
     from ledger.rejects r where r.order_no = t.order_no and r.resolved_at is null) as rejects,
  (select coalesce(json_agg(${addressJson} order by a.slip44), '[]')
     from ledger.addresses a where a.address_key = ledger.address_key(t.to_address)) as addresses`;

/**
 * Finds an order number or an address by index: the order, the address on all chains, and the latest deposits to it.
 * Writes nothing.
 */
export async function findIndexed(db: LedgerDb, text: string): Promise<FoundRecords> {
  const key = sql`ledger.address_key(${text}::text)`;
  const orders = await readTransactions(db, sql`t.order_no = ${text}::text`);
  // Uses a separate query: a plain `or` of the two would make PostgreSQL read the whole table.
  const deposits = await readTransactions(
    db,
    sql`t.stream = 'deposit' and ledger.address_key(t.to_address) = ${key}`,
  );
  const addresses = await db.execute<{ address: FoundAddress }>(sql`
    select ${addressJson} as address from ledger.addresses a where a.address_key = ${key} order by a.slip44`);
  const rejects = await db.execute<{ reject: FoundReject }>(sql`
    select ${rejectJson} as reject from ledger.rejects r
     where r.order_no = ${text}::text and r.resolved_at is null order by r.id`);
  const known = new Set(orders.map(({ orderNo }) => orderNo));
  return {
    ...cut([...orders, ...deposits.filter(({ orderNo }) => !known.has(orderNo))]),
    addresses: addresses.rows.map(({ address }) => address),
    rejects: orders.length > 0 ? [] : rejects.rows.map(({ reject }) => reject),
  };
}

/** Finds transactions with this request id, hash or address. No index serves this, so it reads the whole history. */
export async function findByScan(db: LedgerDb, text: string): Promise<FoundRecords> {
  const lower = sql`lower(${text}::text)`;
  const found = await readTransactions(
    db,
    sql`t.request_id = ${text}::text or lower(t.tx_hash) = ${lower}
        or (lower(t.from_address) = ${lower} or lower(t.to_address) = ${lower})
           and ledger.address_key(${text}::text)
               in (ledger.address_key(t.from_address), ledger.address_key(t.to_address))`,
  );
  return { ...cut(found), addresses: [], rejects: [] };
}

/** Reads one transaction more than is shown, latest first. */
async function readTransactions(db: LedgerDb, condition: SQL): Promise<FoundTransaction[]> {
  const found = await db.execute<FoundTransaction>(sql`
    with t as materialized (
      select t.* from ledger.transactions t where ${condition}
       order by t.occurred_at desc nulls last, t.order_no limit ${transactionsMax + 1})
    select ${transactionColumns} from t order by t.occurred_at desc nulls last, t.order_no`);
  return found.rows;
}

function cut(all: FoundTransaction[]): Pick<FoundRecords, 'transactions' | 'isCut'> {
  return { transactions: all.slice(0, transactionsMax), isCut: all.length > transactionsMax };
}
