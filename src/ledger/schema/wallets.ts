import { boolean, text, unique } from 'drizzle-orm/pg-core';
import { instant, ledger } from './ledger-schema.ts';

/** Wallets whose history the ledger keeps. One key at one service has one name. */
export const wallets = ledger.table(
  'wallets',
  {
    wallet: text('wallet').primaryKey(),
    baseUrl: text('base_url').notNull(),
    keyFingerprint: text('key_fingerprint').notNull(),
    firstSeenAt: instant('first_seen_at').notNull(),
    /** No daemon has the wallet among its WALLETS. */
    isResting: boolean('is_resting').notNull().default(false),
  },
  (table) => [unique('wallets_key').on(table.baseUrl, table.keyFingerprint)],
);
