import { sql } from 'drizzle-orm';
import { bigint, boolean, date, index, integer, numeric, text, uuid } from 'drizzle-orm/pg-core';
import { wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

const count = (name: string) => bigint(name, { mode: 'number' }).notNull();

/** Columns by which transactions are grouped into totals. */
const common = {
  stream: text('stream').notNull(),
  symbol: text('symbol'),
  state: text('state'),
  isSuccess: boolean('is_success').notNull(),
  feeSymbol: text('fee_symbol'),
  /** Their detail has not come yet, so that reconciliation need not read them to know how much may still change. */
  lacksDetail: boolean('lacks_detail').notNull(),
};

const sums = {
  transactions: count('transactions'),
  amounts: count('amounts'),
  amount: numeric('amount').notNull(),
  fees: count('fees'),
  fee: numeric('fee').notNull(),
  largestFee: numeric('largest_fee'),
};

/**
 * Sums per UTC day. `key` is a hash, of the wallet too, because the texts of the service may be too long for an index.
 */
export const dailySums = engine.table(
  'daily_sums',
  {
    wallet: wallet(),
    key: uuid('key').primaryKey(),
    day: date('day', { mode: 'string' }),
    ...common,
    slip44: integer('slip44'),
    ...sums,
  },
  (table) => [
    index('daily_sums_day').on(table.wallet, table.day),
    // All days of a sum.
    index('daily_sums_group').on(
      sql`engine.sum_key(${table.wallet}, ${table.stream}, ${table.symbol}, ${table.state}, ${table.isSuccess}::text, ${table.feeSymbol}, ${table.lacksDetail}::text)`,
    ),
  ],
);

/** Sums over all days. */
export const allSums = engine.table('all_sums', {
  wallet: wallet(),
  key: uuid('key').primaryKey(),
  ...common,
  slip44: integer('slip44'),
  ...sums,
});

/** Changes to the sums that statements made and that `engine.fold_totals` has not added up yet. */
export const totalChanges = engine.table('total_changes', {
  wallet: wallet(),
  id: bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity(),
  day: date('day', { mode: 'string' }),
  ...common,
  slip44: integer('slip44'),
  ...sums,
  lostFee: numeric('lost_fee'),
});
