import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { instant, ledger } from './ledger-schema.ts';

export const addresses = ledger.table(
  'addresses',
  {
    slip44: integer('slip44').notNull(),
    address: text('address').notNull(),
    status: text('status').notNull(),
    assignedTo: text('assigned_to'),
    assignedAt: instant('assigned_at'),
    firstDepositOrderNo: text('first_deposit_order_no'),
    generatedBy: bigint('generated_by', { mode: 'number' }),
    firstSeenAt: instant('first_seen_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.slip44, table.address] }),
    index('addresses_address').on(sql`lower(${table.address})`),
    index('addresses_available')
      .on(table.slip44, table.firstSeenAt, table.address)
      .where(sql`${table.status} = 'available'`),
    index('addresses_assigned_at')
      .on(table.slip44, table.assignedAt)
      .where(sql`${table.assignedAt} is not null`),
    uniqueIndex('addresses_assigned_to')
      .on(table.slip44, table.assignedTo)
      .where(sql`${table.assignedTo} is not null`),
    check('addresses_status', sql`${table.status} in ('available', 'assigned', 'used', 'foreign')`),
  ],
);

export const addressRequests = ledger.table(
  'address_requests',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    slip44: integer('slip44').notNull(),
    num: integer('num').notNull(),
    state: text('state').notNull(),
    requestedAt: instant('requested_at').notNull(),
    finishedAt: instant('finished_at'),
    received: integer('received'),
    error: text('error'),
    owner: text('owner'),
    listReadAt: instant('list_read_at'),
  },
  (table) => [
    uniqueIndex('address_requests_open')
      .on(table.slip44)
      .where(sql`${table.state} in ('sent', 'unknown')`),
    check('address_requests_state', sql`${table.state} in ('sent', 'done', 'failed', 'unknown')`),
  ],
);
