import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import { orNull, pick, query, type RowNamedBy, text, truth } from '../../connection/query-rows.ts';
import { ownWallet } from '../../own-tables.ts';
import { amountText } from '../status-sql.ts';

/** The other side of a transfer between two wallets of this ledger. `isSuccess`: both sides are in a success state. */
export type OtherSide = RowNamedBy<typeof sent>;

const common = {
  isExact: [sql`i.is_exact`, truth],
  isSuccess: [sql`i.is_success`, truth],
} as const;
const sent = pick({
  wallet: [sql`i.to_wallet`, text],
  orderNo: [sql`i.to_order_no`, text],
  amount: [amountText('i.received'), orNull(text)],
  ...common,
});
const received = pick({
  wallet: [sql`i.wallet`, text],
  orderNo: [sql`i.order_no`, text],
  amount: [amountText('i.amount'), orNull(text)],
  ...common,
});

/** Reads the deposit that a withdrawal is in another wallet, or the other way round; null if it is none. */
export async function readOtherSide(
  db: LedgerDb,
  { orderNo, stream }: { orderNo: string; stream: string },
): Promise<OtherSide | null> {
  const [found = null] =
    stream === 'deposit'
      ? await query(db)`
          select ${received} from ledger.internal_transfers i
           where i.to_wallet = ${ownWallet} and i.to_order_no = ${orderNo}::text limit 1`
      : await query(db)`
          select ${sent} from ledger.internal_transfers i
           where i.wallet = ${ownWallet} and i.order_no = ${orderNo}::text limit 1`;
  return found;
}
