import { sql } from 'drizzle-orm';
import type { TransactionRecord } from '../kernel/wallet-records.ts';
import type { LedgerDb } from './connection/connect-ledger.ts';
import { number, orNull, out, pick, query, truth } from './connection/query-rows.ts';
import { transactions } from './own-tables.ts';

/** Numbers of rows that the ledger has of its wallet. `slip44`: the chain with most of its addresses; null: none. */
export type Holdings = { transactions: number; addresses: number; slip44: number | null };

/** Counts the rows by which the wallet of the ledger can be recognized. */
export async function readHoldings(db: LedgerDb): Promise<Holdings> {
  const [row] = await query(db)`
    select (select count(*) from own.transactions) as ${out('transactions', number)},
           (select count(*) from own.addresses) as ${out('addresses', number)},
           (select slip44 from own.addresses group by 1 order by count(*) desc, 1 limit 1) as ${out('slip44', orNull(number))}`;
  return row ?? { transactions: 0, addresses: 0, slip44: null };
}

/** Returns the newest orders, final ones first: the service should still have them, with the same amount. */
export async function listNewestOrders(db: LedgerDb, count: number): Promise<string[]> {
  const rows = await query(db)`
    select ${pick({ orderNo: transactions.orderNo })} from own.transactions
     order by is_final desc, is_listed desc, occurred_at desc nulls last limit ${count}`;
  return rows.map(({ orderNo }) => orderNo);
}

/**
 * Returns true if the ledger has one of the transactions. Services may number their orders alike, so the amount or the
 * hash has to be the same as well.
 */
export async function holdsTransaction(
  db: LedgerDb,
  records: readonly TransactionRecord[],
): Promise<boolean> {
  const orderNos = sql.param(records.map(({ orderNo }) => orderNo));
  const amounts = sql.param(records.map(({ amount }) => amount));
  const hashes = sql.param(records.map(({ txHash }) => txHash));
  const [row] = await query(db)`
    select exists (
      select from unnest(${orderNos}::text[], ${amounts}::numeric[], ${hashes}::text[]) as i (order_no, amount, tx_hash)
        join own.transactions t on t.order_no = i.order_no
       where t.amount = i.amount or t.tx_hash = i.tx_hash) as ${out('isHeld', truth)}`;
  return row?.isHeld ?? false;
}

/** Returns true if the ledger has one of the addresses, in any spelling and on any chain. */
export async function holdsAddress(db: LedgerDb, addresses: readonly string[]): Promise<boolean> {
  const [row] = await query(db)`
    select exists (
      select from unnest(${sql.param([...addresses])}::text[]) as i (address)
        join own.addresses a on a.address_key = ledger.address_key(i.address)) as ${out('isHeld', truth)}`;
  return row?.isHeld ?? false;
}
