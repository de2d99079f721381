import { text } from 'drizzle-orm/pg-core';
import { instant } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Lists whose lease a poll waits for. A scan that holds it gives it back. */
export const leaseWishes = engine.table('lease_wishes', {
  stream: text('stream').primaryKey(),
  until: instant('until').notNull(),
});
