import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import { number, out, pick, query, type RowNamedBy, text } from '../../connection/query-rows.ts';
import { amountText } from '../status-sql.ts';

/** One side of an order in the books. A positive `amount` is a debit, a negative one a credit. */
export type PostingRow = RowNamedBy<typeof columns>;

/** The postings of an order, and the values that the books lack because they are not known. */
export type OrderPostings = { postings: PostingRow[]; missing: string[] };

const columns = pick({
  postingNo: [sql`p.posting_no`, number],
  bookedAt: [sql`p.booked_at::text`, text],
  account: [sql`left(p.account, 2000)`, text],
  symbol: [sql`p.symbol`, text],
  amount: [amountText('p.amount'), text],
});

/** Reads the postings of an order. An order that moved no money has none. */
export async function readPostings(db: LedgerDb, orderNo: string): Promise<OrderPostings> {
  const postings = await query(db)`
    select ${columns} from own.postings p where p.order_no = ${orderNo}::text order by p.posting_no`;
  const missing = await query(db)`
    select u.missing as ${out('missing', text)} from own.unposted_values u
     where u.order_no = ${orderNo}::text order by 1`;
  return { postings, missing: missing.map((row) => row.missing) };
}
