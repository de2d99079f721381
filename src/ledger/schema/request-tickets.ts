import { sql } from 'drizzle-orm';
import { bigint, check, smallint } from 'drizzle-orm/pg-core';
import { instant, ledger } from './ledger-schema.ts';

/** Numbers of all requests ever sent to the service, in order: the fence of every row. */
export const observations = ledger.sequence('observations');

export const requestTickets = ledger.table(
  'request_tickets',
  {
    id: smallint('id').primaryKey().default(1),
    lastNonce: bigint('last_nonce', { mode: 'bigint' }).notNull(),
    nextSlotAt: instant('next_slot_at').notNull(),
  },
  (table) => [check('request_tickets_one_row', sql`${table.id} = 1`)],
);
