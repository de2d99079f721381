import { bigint, boolean, index, integer, numeric, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, ledger, wallet } from './ledger-schema.ts';

export const balances = ledger.table(
  'balances',
  {
    wallet: wallet(),
    slip44: integer('slip44').notNull(),
    symbol: text('symbol').notNull(),
    contractAddress: text('contract_address').notNull(),
    name: text('name'),
    chainName: text('chain_name'),
    chainSymbol: text('chain_symbol'),
    balance: numeric('balance'),
    frozen: numeric('frozen'),
    decimals: integer('decimals'),
    isListed: boolean('is_listed').notNull().default(true),
    observedAt: instant('observed_at').notNull(),
    changedAt: instant('changed_at').notNull(),
    observation: bigint('observation', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.slip44, table.symbol, table.contractAddress] }),
  ],
);

export const balanceChanges = ledger.table(
  'balance_changes',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    slip44: integer('slip44').notNull(),
    symbol: text('symbol').notNull(),
    contractAddress: text('contract_address').notNull(),
    balance: numeric('balance'),
    frozen: numeric('frozen'),
    observedAt: instant('observed_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.id] }),
    index('balance_changes_key').on(
      table.wallet,
      table.slip44,
      table.symbol,
      table.contractAddress,
      table.observedAt,
    ),
  ],
);
