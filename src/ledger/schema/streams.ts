import { bigint, boolean, integer, jsonb, text } from 'drizzle-orm/pg-core';
import { instant, ledger } from './ledger-schema.ts';

export const streams = ledger.table('streams', {
  name: text('name').primaryKey(),
  listOrder: text('list_order'),
  pageSize: integer('page_size'),
  serviceTotal: bigint('service_total', { mode: 'number' }),
  ledgerCount: bigint('ledger_count', { mode: 'number' }).notNull().default(0),
  isComplete: boolean('is_complete').notNull().default(false),
  lastWalkAt: instant('last_walk_at'),
  checkpoint: jsonb('checkpoint'),
  lastSuccessAt: instant('last_success_at'),
  lastError: text('last_error'),
  lastErrorAt: instant('last_error_at'),
  finalChanges: bigint('final_changes', { mode: 'number' }).notNull().default(0),
  leaseOwner: text('lease_owner'),
  leaseUntil: instant('lease_until'),
});
