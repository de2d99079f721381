import { sql } from 'drizzle-orm';
import { pgSchema, text, timestamp } from 'drizzle-orm/pg-core';

export const ledger = pgSchema('ledger');

/** Column of type timestamptz, read as ISO-like text, which keeps the microseconds. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' });

/** First column of the key of every table with rows of several wallets. */
export const wallet = () => text('wallet').notNull().default(sql`engine.wallet()`);
