import { sql } from 'drizzle-orm';
import { bigint, index, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Receivers of webhooks, and how far the feed has been taken over into their deliveries. */
export const webhooks = engine.table('webhooks', {
  name: text('name').primaryKey(),
  position: bigint('position', { mode: 'number' }).notNull(),
  firstSeenAt: instant('first_seen_at').notNull().defaultNow(),
  movedAt: instant('moved_at').notNull().defaultNow(),
  lastError: text('last_error'),
  pausedAt: instant('paused_at'),
  stoppedBecause: text('stopped_because'),
  setAt: instant('set_at').notNull().defaultNow(),
  unsetAt: instant('unset_at'),
  resumedAt: instant('resumed_at'),
});

/** Events that a receiver has not accepted yet. A row is deleted by the answer that accepts its event. */
export const deliveries = engine.table(
  'deliveries',
  {
    receiver: text('receiver')
      .notNull()
      .references(() => webhooks.name, { onDelete: 'cascade' }),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    key: text('key').notNull(),
    attempts: integer('attempts').notNull().default(0),
    dueAt: instant('due_at').notNull().defaultNow(),
    failedSince: instant('failed_since'),
    claimedUntil: instant('claimed_until'),
  },
  (table) => [
    primaryKey({ columns: [table.receiver, table.seq] }),
    index('deliveries_by_key').on(table.receiver, table.key, table.seq),
    index('deliveries_due').on(table.receiver, table.dueAt, table.seq),
    index('deliveries_claimed').on(table.receiver).where(sql`${table.claimedUntil} is not null`),
    index('deliveries_failed')
      .on(table.receiver, table.failedSince)
      .where(sql`${table.failedSince} is not null`),
  ],
);
