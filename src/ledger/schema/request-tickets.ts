import { sql } from 'drizzle-orm';
import { bigint, check, customType, doublePrecision, smallint } from 'drizzle-orm/pg-core';
import { instant, ledger } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Numbers of all requests ever sent to the service, in order: the fence of every row. */
export const observations = ledger.sequence('observations');

export const requestTickets = ledger.table(
  'request_tickets',
  {
    id: smallint('id').primaryKey().default(1),
    lastNonce: bigint('last_nonce', { mode: 'bigint' }).notNull(),
    nextSlotAt: instant('next_slot_at').notNull(),
    slotSeconds: doublePrecision('slot_seconds').notNull().default(0),
    pausedUntil: instant('paused_until').notNull().defaultNow(),
    askedAt: instant('asked_at').notNull().defaultNow(),
    nonceCeiling: bigint('nonce_ceiling', { mode: 'bigint' }).notNull().default(sql`0`),
    observationCeiling: bigint('observation_ceiling', { mode: 'bigint' }).notNull().default(sql`0`),
  },
  (table) => [check('request_tickets_one_row', sql`${table.id} = 1`)],
);

const xid = customType<{ data: string }>({ dataType: () => 'xid' });
const oid = customType<{ data: number }>({ dataType: () => 'oid' });

/** Unlogged: its row is gone after a crash, on a promoted standby and, by its xmin or its database, in a copy. */
export const ticketWitness = engine.table('ticket_witness', {
  ownXid: xid('own_xid').notNull(),
  databaseOid: oid('database_oid').notNull(),
});
