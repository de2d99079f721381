import { boolean, index, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, ledger, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Pools of the last ADDRESS_POOLS, and the state of filling each of them. */
export const pools = ledger.table(
  'pools',
  {
    wallet: wallet(),
    slip44: integer('slip44').notNull(),
    threshold: integer('threshold').notNull(),
    target: integer('target').notNull(),
    isFilling: boolean('is_filling').notNull().default(false),
    refusals: integer('refusals').notNull().default(0),
    nextTryAt: instant('next_try_at'),
    numMax: integer('num_max').notNull().default(200),
    lastError: text('last_error'),
    lastErrorAt: instant('last_error_at'),
    losses: integer('losses').notNull().default(0),
    chainFilter: text('chain_filter'),
    chainParam: text('chain_param'),
    chainFilterAt: instant('chain_filter_at'),
    refusedAt: instant('refused_at'),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.slip44] })],
);

/** Calls of take_address that returned null although addresses were available; at most one row per chain in 5 s. */
export const nullTakes = engine.table(
  'null_takes',
  { wallet: wallet(), slip44: integer('slip44').notNull(), takenAt: instant('taken_at').notNull() },
  (table) => [index('null_takes_taken_at').on(table.wallet, table.slip44, table.takenAt)],
);
