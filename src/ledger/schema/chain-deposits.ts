import { bigint, index, integer, numeric, text, uuid } from 'drizzle-orm/pg-core';
import { instant, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

const count = (name: string) => bigint(name, { mode: 'number' }).notNull();

const sums = {
  symbol: text('symbol').notNull(),
  state: text('state'),
  slip44: integer('slip44'),
  transactions: count('transactions'),
  amounts: count('amounts'),
  amount: numeric('amount').notNull(),
};

/** Deposits of coins that exist on several chains, per chain over all hours. `key` is a hash, as in `daily_sums`. */
export const chainDeposits = engine.table('chain_deposits', {
  wallet: wallet(),
  key: uuid('key').primaryKey(),
  ...sums,
});

/** The same per UTC hour. */
export const hourlyChainDeposits = engine.table(
  'hourly_chain_deposits',
  { wallet: wallet(), hour: instant('hour').notNull(), ...sums },
  (table) => [index('hourly_chain_deposits_hour').on(table.wallet, table.hour)],
);

/** Hours, or addresses, whose deposits are to be read again. */
export const chainDepositMarks = engine.table('chain_deposit_marks', {
  wallet: wallet(),
  hour: instant('hour'),
  addressKey: text('address_key'),
});
