import { bigint, pgSchema, text } from 'drizzle-orm/pg-core';

/** Schema of the program's internal tables; the schema `ledger` holds the facts. */
export const engine = pgSchema('engine');

/** Latest answer of each snapshot table (balances, coins), one row per table. */
export const snapshots = engine.table('snapshots', {
  name: text('name').primaryKey(),
  observation: bigint('observation', { mode: 'number' }).notNull(),
});
