import { sql } from 'drizzle-orm';
import { bigint, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Hints of callers that have not been served yet: a list to look at, or an order whose detail to fetch. */
export const hints = engine.table(
  'hints',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    subject: text('subject').notNull(),
    orderNo: text('order_no'),
    hintedAt: instant('hinted_at').notNull().default(sql`clock_timestamp()`),
    takenAt: instant('taken_at'),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.id] })],
);

/** Earliest time at which hints may cost the next request, one row per subject. */
export const hintTurns = engine.table(
  'hint_turns',
  { wallet: wallet(), subject: text('subject').notNull(), nextAt: instant('next_at').notNull() },
  (table) => [primaryKey({ columns: [table.wallet, table.subject] })],
);
