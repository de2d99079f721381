import { bigint, pgSchema, text } from 'drizzle-orm/pg-core';

/** What nobody but the program reads; `ledger` holds the facts. */
export const engine = pgSchema('engine');

/** One row per answer that lists all rows of a table: balances, coins. */
export const snapshots = engine.table('snapshots', {
  name: text('name').primaryKey(),
  observation: bigint('observation', { mode: 'number' }).notNull(),
});
