import { sql } from 'drizzle-orm';
import { bigint, boolean, index, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { instant, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Details that are still to be fetched, one row per transaction; none when nothing is left to fetch. */
export const detailChecks = engine.table(
  'detail_checks',
  {
    wallet: wallet(),
    orderNo: text('order_no').notNull(),
    isFinal: boolean('is_final').notNull(),
    /** See `Turn`. */
    turn: smallint('turn').notNull(),
    dueAt: instant('due_at').notNull().default(sql`now()`),
    claimedUntil: instant('claimed_until'),
    claim: uuid('claim'),
    refusals: smallint('refusals').notNull().default(0),
    /** Times of the first and of the last of these refusals. */
    refusedSince: instant('refused_since'),
    refusedAt: instant('refused_at'),
    /** Reason of the last of them. */
    refusal: text('refusal'),
    observation: bigint('observation', { mode: 'number' }).notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.orderNo] }),
    index('detail_checks_turn').on(table.wallet, table.turn, table.dueAt),
  ],
);
