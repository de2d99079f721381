import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  customType,
  doublePrecision,
  integer,
  primaryKey,
  smallint,
} from 'drizzle-orm/pg-core';
import { instant, ledger, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

/** Sequence of observations, in the order of all requests to the service. */
export const observations = ledger.sequence('observations');

export const requestTickets = ledger.table(
  'request_tickets',
  {
    wallet: wallet(),
    id: smallint('id').notNull().default(1),
    lastNonce: bigint('last_nonce', { mode: 'bigint' }).notNull(),
    nextSlotAt: instant('next_slot_at').notNull(),
    slotSeconds: doublePrecision('slot_seconds').notNull().default(0),
    pausedUntil: instant('paused_until').notNull().defaultNow(),
    askedAt: instant('asked_at').notNull().defaultNow(),
    nonceCeiling: bigint('nonce_ceiling', { mode: 'bigint' }).notNull().default(sql`0`),
    observationCeiling: bigint('observation_ceiling', { mode: 'bigint' }).notNull().default(sql`0`),
    lanePassed: integer('lane_passed').array().notNull().default([0, 0, 0, 0]),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.id] }),
    check('request_tickets_one_row', sql`${table.id} = 1`),
  ],
);

const xid = customType<{ data: string }>({ dataType: () => 'xid' });
const oid = customType<{ data: number }>({ dataType: () => 'oid' });

/**
 * Witnesses, one per wallet, that the ticket numbers continue. The table is unlogged, so a crash or a promotion empties
 * it. In a copy its xmin or its database does not match.
 */
export const ticketWitness = engine.table('ticket_witness', {
  wallet: wallet(),
  ownXid: xid('own_xid').notNull(),
  databaseOid: oid('database_oid').notNull(),
});
