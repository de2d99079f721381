import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import {
  listOf,
  object,
  orNull,
  out,
  pick,
  query,
  type RowNamedBy,
  text,
  truth,
} from '../connection/query-rows.ts';
import {
  addresses as addressTable,
  rejects as rejectTable,
  transactionChanges,
  transactions,
} from '../own-tables.ts';

/**
 * A stored transaction. Amounts are texts with the service's own digits; times are ISO 8601, UTC. `slip44`: its chain;
 * null if that is not known, because the service does not name it. `isDetailDue`: the
 * detail is still to be fetched, or to be fetched again. `notCompleteBecause`: reason why the row's list is not
 * complete; null if it is proven complete or has no stream row yet. `changes`: the latest 200, oldest first. `rejects`:
 * the open ones. `addresses`: those equal to `toAddress`, on all chains.
 */
export type FoundTransaction = RowNamedBy<typeof transactionColumns>;

/**
 * An address of the ledger, found by any spelling. `generatedBy` is the id of the address request that generated it;
 * null if this program did not. `conflicts` holds all its references if it was handed out more than once.
 */
export type FoundAddress = ReturnType<typeof asAddress>;

/**
 * Result of a search. `rejects` belong to an order that is not stored. `isCut`: more transactions match than are
 * returned.
 */
export type FoundRecords = {
  transactions: FoundTransaction[];
  addresses: FoundAddress[];
  rejects: ReturnType<typeof asReject>[];
  isCut: boolean;
};

const transactionsMax = 50;
const changesMax = 200;
const rejectsMax = 200;

/** Formats a time with milliseconds, which distinguish rows. */
function iso(time: string): SQL {
  return sql`to_char(${sql.raw(time)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

const a = alias(addressTable, 'a');
const [addressJson, asAddress] = object({
  slip44: a.slip44,
  address: a.address,
  status: a.status,
  assignedTo: a.assignedTo,
  assignedAt: [iso('a.assigned_at'), orNull(text)],
  firstDepositOrderNo: a.firstDepositOrderNo,
  generatedBy: a.generatedBy,
  firstSeenAt: [iso('a.first_seen_at'), text],
  conflicts: [
    sql`(select coalesce(json_agg(c.assigned_to order by c.assigned_at), '[]')
           from own.address_conflicts c where c.address_key = a.address_key and c.slip44 = a.slip44)`,
    listOf(orNull(text)),
  ],
});

const { id, source, field, reason } = alias(rejectTable, 'r');
const [rejectJson, asReject] = object({
  id,
  source,
  field,
  reason,
  lastSeenAt: [iso('r.last_seen_at'), text],
});

const change = alias(transactionChanges, 'c');
const [changeJson, asChange] = object({
  observedAt: [iso('c.observed_at'), text],
  field: change.field,
  oldValue: change.oldValue,
  newValue: change.newValue,
});

const t = alias(transactions, 't');
const transactionColumns = pick({
  orderNo: t.orderNo,
  stream: t.stream,
  requestId: t.requestId,
  symbol: t.symbol,
  slip44: t.slip44,
  txHash: t.txHash,
  fromAddress: t.fromAddress,
  toAddress: t.toAddress,
  amount: t.amount,
  type: t.type,
  state: t.state,
  confirmNum: t.confirmNum,
  fee: t.fee,
  feeSymbol: t.feeSymbol,
  occurredAt: [iso('t.occurred_at'), orNull(text)],
  isFinal: t.isFinal,
  isSuccess: t.isSuccess,
  isListed: t.isListed,
  isBackfilled: t.isBackfilled,
  alsoListedIn: t.alsoListedIn,
  detailSyncedAt: [iso('t.detail_synced_at'), orNull(text)],
  firstSeenAt: [iso('t.first_seen_at'), text],
  changedAt: [iso('t.changed_at'), text],
  observedAt: [iso('t.observed_at'), text],
  extra: [sql`t.extra`, (value) => value],
  isDetailDue: [
    // With `exists` the planner may read the whole view, so a scalar subquery replaces it.
    sql`coalesce((select true from own.waiting_details w where w.order_no = t.order_no limit 1), false)`,
    truth,
  ],
  notCompleteBecause: [
    sql`(select s.not_complete_because from own.streams s where s.name = t.stream)`,
    orNull(text),
  ],
  changes: [
    sql`(select coalesce(json_agg(${changeJson} order by c.id), '[]')
     from (select * from own.transaction_changes x where x.order_no = t.order_no
            order by x.id desc limit ${changesMax}) as c)`,
    listOf(asChange),
  ],
  rejects: [
    sql`(select coalesce(json_agg(${rejectJson} order by r.id), '[]')
     from own.rejects r where r.order_no = t.order_no and r.resolved_at is null)`,
    listOf(asReject),
  ],
  addresses: [
    sql`(select coalesce(json_agg(${addressJson} order by a.slip44), '[]')
     from own.addresses a where a.address_key = ledger.address_key(t.to_address))`,
    listOf(asAddress),
  ],
});

/** Finds an order by its number, and the open rejects that name it; resolved ones too if the order is not stored. */
export async function findOrder(
  db: LedgerDb,
  orderNo: string,
): Promise<{ transaction: FoundTransaction | null } & Pick<FoundRecords, 'rejects'>> {
  const [transaction = null] = await readTransactions(db, sql`t.order_no = ${orderNo}::text`);
  const isOpen = transaction === null ? sql`true` : sql`r.resolved_at is null`;
  return { transaction, rejects: await readRejects(db, orderNo, isOpen) };
}

/** Finds an address in any spelling, on all chains that have it. */
export async function findAddress(db: LedgerDb, address: string): Promise<FoundAddress[]> {
  const rows = await query(db)`
    select ${addressJson} as ${out('address', asAddress)} from own.addresses a
     where a.address_key = ledger.address_key(${address}::text) order by a.slip44`;
  return rows.map((row) => row.address);
}

/**
 * Finds an order number, a request id, a hash as the service gave it, in lower case or in the spellings of hexadecimal
 * digits, or an address, all by index: the transactions with it, the latest ones to it, and the address on all chains.
 * Writes nothing.
 */
export async function findIndexed(db: LedgerDb, given: string): Promise<FoundRecords> {
  const key = sql`ledger.address_key(${given}::text)`;
  const hashes = sql`array[${given}::text, lower(${given}::text)] || ledger.hash_spellings(${given}::text)`;
  const orders = await readTransactions(db, sql`t.order_no = ${given}::text`);
  // Uses separate queries: a plain `or` would make PostgreSQL read the whole table.
  const others = [
    ...(await readTransactions(db, sql`t.request_id = ${given}::text`)),
    ...(await readTransactions(db, sql`t.tx_hash = any (${hashes})`)),
    ...(await readTransactions(
      db,
      sql`t.stream = 'deposit' and ledger.address_key(t.to_address) = ${key}`,
    )),
    ...(await readTransactions(
      db,
      sql`t.stream <> 'deposit' and ledger.address_key(t.to_address) = ${key}`,
    )),
  ];
  const addresses = await findAddress(db, given);
  const rejects = await readRejects(db, given);
  const found = new Map([...orders, ...others].map((row) => [row.orderNo, row]));
  return {
    ...cut([...found.values()]),
    addresses,
    rejects: orders.length > 0 ? [] : rejects,
  };
}

/**
 * Finds transactions with this hash in another spelling, or from this address. No index serves this, so it reads the
 * whole history.
 */
export async function findByScan(db: LedgerDb, given: string): Promise<FoundRecords> {
  const lower = sql`lower(${given}::text)`;
  const found = await readTransactions(
    db,
    sql`lower(t.tx_hash) = any (array[${lower}] || ledger.hash_spellings(${lower}))
        or lower(t.from_address) = ${lower} and ledger.address_key(t.from_address) = ledger.address_key(${given}::text)`,
  );
  return { ...cut(found), addresses: [], rejects: [] };
}

/** Reads the open rejects that name this order number; on request the resolved ones too. */
async function readRejects(
  db: LedgerDb,
  orderNo: string,
  condition = sql`r.resolved_at is null`,
): Promise<FoundRecords['rejects']> {
  const rows = await query(db)`
    select ${rejectJson} as ${out('reject', asReject)} from own.rejects r
     where r.order_no = ${orderNo}::text and ${condition} order by r.id limit ${rejectsMax}`;
  return rows.map(({ reject }) => reject);
}

/** Reads one transaction more than is shown, latest first. */
async function readTransactions(db: LedgerDb, condition: SQL): Promise<FoundTransaction[]> {
  return await query(db)`
    with t as materialized (
      select t.* from own.transactions t where ${condition}
       order by t.occurred_at desc nulls last, t.order_no limit ${transactionsMax + 1})
    select ${transactionColumns} from t order by t.occurred_at desc nulls last, t.order_no`;
}

function cut(all: FoundTransaction[]): Pick<FoundRecords, 'transactions' | 'isCut'> {
  return { transactions: all.slice(0, transactionsMax), isCut: all.length > transactionsMax };
}
