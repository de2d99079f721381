import { jsonb, text } from 'drizzle-orm/pg-core';
import { instant } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Intervals of the repeatable jobs that hold for all daemons of a queue. */
export const intervals = engine.table('intervals', {
  /** Backend and prefix of the queue. */
  queue: text('queue').primaryKey(),
  intervals: jsonb('intervals').notNull(),
  setBy: text('set_by').notNull(),
  setAt: instant('set_at').notNull(),
});
