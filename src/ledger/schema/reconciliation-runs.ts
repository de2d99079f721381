import { bigint, boolean, index, numeric, text } from 'drizzle-orm/pg-core';
import { instant, ledger } from './ledger-schema.ts';

export const reconciliationRuns = ledger.table(
  'reconciliation_runs',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    symbol: text('symbol').notNull(),
    observedAt: instant('observed_at').notNull(),
    expected: numeric('expected').notNull(),
    reported: numeric('reported').notNull(),
    difference: numeric('difference').notNull(),
    isExplained: boolean('is_explained').notNull(),
    explanation: text('explanation'),
    lastOrderNo: text('last_order_no'),
  },
  (table) => [index('reconciliation_runs_symbol').on(table.symbol, table.id)],
);
