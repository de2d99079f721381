import { sql } from 'drizzle-orm';
import { bigint, index, integer, text } from 'drizzle-orm/pg-core';
import type { RecordSource } from '../../kernel/wallet-records.ts';
import { instant, ledger } from './ledger-schema.ts';

export const rejects = ledger.table(
  'rejects',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    source: text('source').$type<RecordSource>().notNull(),
    orderNo: text('order_no'),
    field: text('field'),
    reason: text('reason').notNull(),
    payload: text('payload').notNull(),
    fingerprint: text('fingerprint').notNull().unique(),
    firstSeenAt: instant('first_seen_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    times: integer('times').notNull().default(1),
    resolvedAt: instant('resolved_at'),
  },
  (table) => [
    index('rejects_open').on(table.orderNo).where(sql`${table.resolvedAt} is null`),
    index('rejects_resolved_at').on(table.resolvedAt).where(sql`${table.resolvedAt} is not null`),
  ],
);
