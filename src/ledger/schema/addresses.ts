import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  customType,
  index,
  integer,
  jsonb,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { instant, ledger, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Transaction number that does not wrap. */
export const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' });

export const addresses = ledger.table(
  'addresses',
  {
    wallet: wallet(),
    slip44: integer('slip44').notNull(),
    address: text('address').notNull(),
    status: text('status').notNull(),
    assignedTo: text('assigned_to'),
    assignedAt: instant('assigned_at'),
    firstDepositOrderNo: text('first_deposit_order_no'),
    generatedBy: bigint('generated_by', { mode: 'number' }),
    firstSeenAt: instant('first_seen_at').notNull(),
    setAsideEpoch: integer('set_aside_epoch'),
    addressKey: text('address_key').notNull().generatedAlwaysAs(sql`ledger.address_key(address)`),
    assignedNo: integer('assigned_no'),
    firstDepositAt: instant('first_deposit_at'),
    listedAs: text('listed_as').array().notNull().default([]),
    uncheckedUntil: xid8('unchecked_until').default('0'),
    form: text('form'),
    refused: text('refused'),
    assignedXact: xid8('assigned_xact'),
    assignedBy: text('assigned_by'),
    place: uuid('place').default(sql`engine.current_place()`),
    withheldAt: instant('withheld_at'),
    afterRequest: bigint('after_request', { mode: 'number' })
      .notNull()
      .default(sql`engine.newest_request()`),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.slip44, table.addressKey] }),
    index('addresses_address_key').on(table.addressKey, table.wallet),
    index('addresses_first_deposit')
      .on(table.firstDepositOrderNo, table.wallet)
      .where(sql`${table.firstDepositOrderNo} is not null`),
    index('addresses_unchecked')
      .on(table.wallet, table.uncheckedUntil)
      .where(sql`${table.uncheckedUntil} is not null`),
    index('addresses_available')
      .on(table.wallet, table.slip44, table.firstSeenAt, table.address)
      .where(sql`${table.status} = 'available'`),
    index('addresses_assigned_at')
      .on(table.wallet, table.slip44, table.assignedAt)
      .where(sql`${table.assignedAt} is not null`),
    uniqueIndex('addresses_assigned_to')
      .on(table.wallet, table.slip44, table.assignedTo, table.assignedNo)
      .where(sql`${table.assignedTo} is not null`),
    index('addresses_place').on(table.place).where(sql`${table.status} = 'available'`),
    index('addresses_strange').on(table.wallet, table.slip44).where(sql`${table.form} = 'strange'`),
    index('addresses_unjudged')
      .on(table.slip44, table.address)
      .where(sql`${table.form} is null and ${table.refused} is null`),
    // One constraint that calls a function: PostgreSQL parses each constraint's text again for each update of a row.
    check(
      'addresses_sound',
      sql`engine.is_sound_address(${table.status}, ${table.form}, ${table.refused})`,
    ),
  ],
);

export const addressRequests = ledger.table(
  'address_requests',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    slip44: integer('slip44').notNull(),
    num: integer('num').notNull(),
    state: text('state').notNull(),
    requestedAt: instant('requested_at').notNull(),
    finishedAt: instant('finished_at'),
    received: integer('received'),
    generated: integer('generated'),
    error: text('error'),
    owner: text('owner'),
    listReadAt: instant('list_read_at'),
    epoch: integer('epoch').notNull().default(sql`engine.current_epoch()`),
    lostAt: instant('lost_at'),
    answer: text('answer').array(),
    observation: bigint('observation', { mode: 'number' })
      .notNull()
      .default(sql`engine.newest_observation()`),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.id] }),
    uniqueIndex('address_requests_open')
      .on(table.wallet, table.slip44)
      .where(sql`${table.state} in ('sent', 'unknown')`),
    check('address_requests_state', sql`${table.state} in ('sent', 'done', 'failed', 'unknown')`),
  ],
);

/** Holders of an address that was handed out more than once, one row for each. */
export const addressConflicts = ledger.table(
  'address_conflicts',
  {
    wallet: wallet(),
    slip44: integer('slip44').notNull(),
    address: text('address').notNull(),
    addressKey: text('address_key').notNull(),
    assignedTo: text('assigned_to'),
    assignedAt: instant('assigned_at'),
    noticedAt: instant('noticed_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.addressKey, table.slip44, table.address] }),
  ],
);

/** Rows of an earlier version that held another spelling of an address that has a row. */
export const mergedAddresses = engine.table(
  'merged_addresses',
  {
    wallet: wallet(),
    slip44: integer('slip44').notNull(),
    address: text('address').notNull(),
    addressKey: text('address_key').notNull(),
    facts: jsonb('facts').notNull(),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.slip44, table.address] })],
);
