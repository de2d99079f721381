import { primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Lists whose lease a poll waits for. A scan that holds it gives it back. */
export const leaseWishes = engine.table(
  'lease_wishes',
  { wallet: wallet(), stream: text('stream').notNull(), until: instant('until').notNull() },
  (table) => [primaryKey({ columns: [table.wallet, table.stream] })],
);
