import { sql } from 'drizzle-orm';
import { bigint, index, integer, primaryKey, text, unique } from 'drizzle-orm/pg-core';
import type { RecordSource } from '../../kernel/wallet-records.ts';
import { instant, ledger, wallet } from './ledger-schema.ts';

export const rejects = ledger.table(
  'rejects',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    source: text('source').$type<RecordSource>().notNull(),
    orderNo: text('order_no'),
    field: text('field'),
    reason: text('reason').notNull(),
    payload: text('payload').notNull(),
    fingerprint: text('fingerprint').notNull(),
    firstSeenAt: instant('first_seen_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    times: integer('times').notNull().default(1),
    resolvedAt: instant('resolved_at'),
  },
  (table) => [
    unique('rejects_fingerprint').on(table.wallet, table.fingerprint),
    primaryKey({ columns: [table.wallet, table.id] }),
    index('rejects_open').on(table.orderNo, table.wallet).where(sql`${table.resolvedAt} is null`),
    index('rejects_resolved_at').on(table.resolvedAt).where(sql`${table.resolvedAt} is not null`),
  ],
);
