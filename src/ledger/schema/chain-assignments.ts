import { sql } from 'drizzle-orm';
import { primaryKey, text } from 'drizzle-orm/pg-core';
import { xid8 } from './addresses.ts';
import { instant, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** An assignment of chains to the rows without one that is under way; no row when there is none. */
export const chainAssignments = engine.table(
  'chain_assignments',
  {
    wallet: wallet(),
    /** Rows up to this moment of first sight, and up to this order number of that moment, are done. */
    afterFirstSeenAt: instant('after_first_seen_at').notNull().default(sql`'-infinity'`),
    afterOrderNo: text('after_order_no').notNull().default(''),
    /**
     * The rows are read once more when all transactions below this one have ended, because these may have stored rows
     * without seeing the new asset. Null during the first reading.
     */
    repeatAfter: xid8('repeat_after'),
  },
  (table) => [primaryKey({ columns: [table.wallet] })],
);

/** New addresses with earlier deposits whose chain is not assigned yet. */
export const chainAddresses = engine.table(
  'chain_addresses',
  { wallet: wallet(), addressKey: text('address_key').notNull() },
  (table) => [primaryKey({ columns: [table.wallet, table.addressKey] })],
);
