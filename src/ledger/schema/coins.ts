import { bigint, boolean, index, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, ledger, wallet } from './ledger-schema.ts';

export const coins = ledger.table(
  'coins',
  {
    wallet: wallet(),
    slip44: integer('slip44').notNull(),
    symbol: text('symbol').notNull(),
    contractAddress: text('contract_address').notNull(),
    name: text('name'),
    decimals: integer('decimals'),
    depositState: integer('deposit_state'),
    withdrawState: integer('withdraw_state'),
    isListed: boolean('is_listed').notNull().default(true),
    observedAt: instant('observed_at').notNull(),
    changedAt: instant('changed_at').notNull(),
    observation: bigint('observation', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.slip44, table.symbol, table.contractAddress] }),
  ],
);

export const coinChanges = ledger.table(
  'coin_changes',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    slip44: integer('slip44').notNull(),
    symbol: text('symbol').notNull(),
    contractAddress: text('contract_address').notNull(),
    name: text('name'),
    decimals: integer('decimals'),
    depositState: integer('deposit_state'),
    withdrawState: integer('withdraw_state'),
    isListed: boolean('is_listed').notNull(),
    observedAt: instant('observed_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.id] }),
    index('coin_changes_key').on(
      table.wallet,
      table.slip44,
      table.symbol,
      table.contractAddress,
      table.observedAt,
    ),
  ],
);
