import { text } from 'drizzle-orm/pg-core';
import { instant, ledger } from './ledger-schema.ts';

/** Wallet whose history the ledger keeps. */
export const wallets = ledger.table('wallets', {
  wallet: text('wallet').primaryKey(),
  baseUrl: text('base_url').notNull(),
  keyFingerprint: text('key_fingerprint').notNull(),
  firstSeenAt: instant('first_seen_at').notNull(),
});
