import { bigint, pgSchema, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, wallet } from './ledger-schema.ts';

/** Schema of the program's internal tables; the schema `ledger` holds the facts. */
export const engine = pgSchema('engine');

/** Latest answer of each snapshot table (balances, coins), one row per table. */
export const snapshots = engine.table(
  'snapshots',
  {
    wallet: wallet(),
    name: text('name').notNull(),
    observation: bigint('observation', { mode: 'number' }).notNull(),
    emptySince: instant('empty_since'),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.name] })],
);
