import { sql } from 'drizzle-orm';
import { bigint, check, customType, integer, text, uuid } from 'drizzle-orm/pg-core';
import { instant } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

export const oid = customType<{ data: number }>({ dataType: () => 'oid' });
const xid = customType<{ data: string }>({ dataType: () => 'xid' });

/** Home of the database, in one row; null columns are facts that the server hides. */
export const home = engine.table(
  'home',
  {
    id: integer('id').primaryKey().default(1),
    epoch: integer('epoch').notNull(),
    begunAt: instant('begun_at').notNull(),
    ownXid: xid('own_xid').notNull(),
    ownOid: oid('own_oid').notNull(),
    addressesOid: oid('addresses_oid').notNull(),
    databaseOid: oid('database_oid').notNull(),
    systemIdentifier: bigint('system_identifier', { mode: 'bigint' }),
    timeline: text('timeline'),
    disturbedBy: text('disturbed_by'),
    place: uuid('place').default(sql`gen_random_uuid()`),
  },
  (table) => [check('home_one_row', sql`${table.id} = 1`)],
);

/** Moves of the database, one row for each. */
export const moves = engine.table('moves', {
  epoch: integer('epoch').primaryKey(),
  what: text('what').notNull(),
  noticedAt: instant('noticed_at').notNull(),
  healedAt: instant('healed_at'),
  setAside: integer('set_aside'),
  closedRequests: integer('closed_requests'),
  acknowledgedAt: instant('acknowledged_at'),
  recordedFor: text('recorded_for').array().notNull().default(sql`'{}'::text[]`),
});
