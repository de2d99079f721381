import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, numeric, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, ledger, wallet } from './ledger-schema.ts';

/** Changes of a difference, one row for each: of a coin over all chains, or of one of its assets (`slip44` is set). */
export const reconciliationRuns = ledger.table(
  'reconciliation_runs',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    symbol: text('symbol').notNull(),
    slip44: integer('slip44'),
    contractAddress: text('contract_address'),
    observedAt: instant('observed_at').notNull(),
    expected: numeric('expected').notNull(),
    reported: numeric('reported').notNull(),
    difference: numeric('difference').notNull(),
    isExplained: boolean('is_explained').notNull(),
    explanation: text('explanation'),
    lastOrderNo: text('last_order_no'),
    unexplainedSince: instant('unexplained_since'),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.id] }),
    index('reconciliation_runs_observed_at').on(table.observedAt),
    // Sorts the latest row of a key first, so that one index step per key finds them all.
    index('reconciliation_runs_latest').on(
      table.wallet,
      table.symbol,
      sql`coalesce(${table.slip44}, -1)`,
      sql`coalesce(${table.contractAddress}, '')`,
      table.id.desc().nullsFirst(),
    ),
  ],
);
