import { sql } from 'drizzle-orm';
import { bigint, text } from 'drizzle-orm/pg-core';
import { instant } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Hints of callers that have not been served yet: a list to look at, or an order whose detail to fetch. */
export const hints = engine.table('hints', {
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  subject: text('subject').notNull(),
  orderNo: text('order_no'),
  hintedAt: instant('hinted_at').notNull().default(sql`clock_timestamp()`),
  takenAt: instant('taken_at'),
});

/** Earliest time at which hints may cost the next request, one row per subject. */
export const hintTurns = engine.table('hint_turns', {
  subject: text('subject').primaryKey(),
  nextAt: instant('next_at').notNull(),
});
