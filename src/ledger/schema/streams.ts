import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  jsonb,
  primaryKey,
  text,
} from 'drizzle-orm/pg-core';
import type { ListOrder } from '../../kernel/vocabulary.ts';
import { instant, ledger, wallet } from './ledger-schema.ts';

const rowCount = (name: string) => bigint(name, { mode: 'number' });

/** Proof that a list is complete. The database derives it, so no writer can set it. */
const isProven = sql`is_backed and doubt is null and conflicts = 0 and accepted_difference = 0
  and service_total is not null and service_total = ledger_count`;

const whyNot = sql`case
  when not is_backed then 'the list has not been read from end to end yet'
  when doubt is not null then doubt
  when conflicts > 0 then conflicts::text || ' rows are shown by this list and by another one'
  when service_total is null then 'the service gives no usable total'
  when accepted_difference > 0 and service_total - ledger_count = accepted_difference
    then 'the service counts ' || accepted_difference::text || ' more rows than its list shows with a usable key'
  when accepted_difference < 0 and service_total - ledger_count = accepted_difference
    then 'the service counts ' || (-accepted_difference)::text || ' fewer rows than its list shows'
  when ledger_count < service_total
    then (service_total - ledger_count)::text || ' of ' || service_total::text || ' rows are missing'
  when ledger_count > service_total
    then 'the ledger lists ' || (ledger_count - service_total)::text || ' more rows than the service counts'
  when accepted_difference <> 0 then 'the counts are equal, but an earlier difference has not been explained'
end`;

export const streams = ledger.table(
  'streams',
  {
    wallet: wallet(),
    name: text('name').notNull(),
    listOrder: text('list_order').$type<ListOrder>(),
    pageSize: integer('page_size'),
    serviceTotal: rowCount('service_total'),
    totalObservation: bigint('total_observation', { mode: 'number' }).notNull().default(0),
    ledgerCount: rowCount('ledger_count').notNull().default(0),
    isBacked: boolean('is_backed').notNull().default(false),
    acceptedDifference: rowCount('accepted_difference').notNull().default(0),
    doubt: text('doubt'),
    conflicts: rowCount('conflicts').notNull().default(0),
    isComplete: boolean('is_complete').notNull().generatedAlwaysAs(isProven),
    notCompleteBecause: text('not_complete_because').generatedAlwaysAs(whyNot),
    lastWalkAt: instant('last_walk_at'),
    verifiedThrough: instant('verified_through'),
    passes: rowCount('passes').notNull().default(0),
    countAtLastPass: rowCount('count_at_last_pass').notNull().default(0),
    checkpoint: jsonb('checkpoint'),
    lastSuccessAt: instant('last_success_at'),
    lastError: text('last_error'),
    lastErrorAt: instant('last_error_at'),
    emptySince: instant('empty_since'),
    finalChanges: rowCount('final_changes').notNull().default(0),
    leaseOwner: text('lease_owner'),
    leaseUntil: instant('lease_until'),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.name] })],
);

/** Changes of a list's proof, one row for each. */
export const streamProofs = ledger.table(
  'stream_proofs',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    name: text('name').notNull(),
    observedAt: instant('observed_at').notNull(),
    isComplete: boolean('is_complete').notNull(),
    serviceTotal: rowCount('service_total'),
    ledgerCount: rowCount('ledger_count').notNull(),
    reason: text('reason'),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.id] }),
    index('stream_proofs_name').on(table.wallet, table.name, table.id),
  ],
);

/** Keys that a running scan has met, for lists whose order does not allow a comparison by day. Unlogged. */
export const scanNotes = ledger.table(
  'scan_notes',
  { wallet: wallet(), stream: text('stream').notNull(), key: text('key').notNull() },
  (table) => [primaryKey({ columns: [table.wallet, table.stream, table.key] })],
);

/** Number of listed rows per UTC day, and the time at which the service last listed exactly these. */
export const coverage = ledger.table(
  'coverage',
  {
    wallet: wallet(),
    stream: text('stream').notNull(),
    day: date('day', { mode: 'string' }).notNull(),
    transactions: rowCount('transactions').notNull(),
    verifiedAt: instant('verified_at'),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.stream, table.day] })],
);
