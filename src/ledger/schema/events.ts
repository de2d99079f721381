import { sql } from 'drizzle-orm';
import { bigint, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { xid8 } from './addresses.ts';
import { instant, ledger, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** The change feed: what happened in all wallets, numbered in the order in which it was committed. */
export const events = ledger.table('events', {
  wallet: wallet(),
  seq: bigint('seq', { mode: 'number' }).primaryKey(),
  recordedAt: instant('recorded_at').notNull(),
  kind: text('kind').notNull(),
  key: text('key').notNull(),
  data: jsonb('data').notNull(),
});

/** Events that have no number yet. Written by the transaction that changes the row, emptied by the sequencer. */
export const outbox = engine.table('outbox', {
  wallet: wallet(),
  id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  xact: xid8('xact').notNull().default(sql`pg_current_xact_id()`),
  recordedAt: instant('recorded_at').notNull().default(sql`clock_timestamp()`),
  kind: text('kind').notNull(),
  key: text('key').notNull(),
  data: jsonb('data').notNull(),
});

/** Consumers of the feed that read it with SQL, and how far each has acknowledged it. */
export const consumers = engine.table('consumers', {
  name: text('name').primaryKey(),
  role: text('role').notNull(),
  position: bigint('position', { mode: 'number' }).notNull().default(0),
  firstSeenAt: instant('first_seen_at').notNull().defaultNow(),
  movedAt: instant('moved_at').notNull().defaultNow(),
});

/** Problems of `ledger.problems` that the feed has reported, and that have not ended; of all wallets. */
export const raisedProblems = engine.table(
  'raised_problems',
  {
    wallet: wallet(),
    name: text('name').notNull(),
    severity: text('severity').notNull(),
    since: instant('since'),
    what: text('what').notNull(),
    cure: text('cure').notNull(),
    subject: text('subject').notNull().default(''),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.name, table.severity, table.subject] })],
);
