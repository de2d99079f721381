import { boolean, customType, primaryKey, text, unique } from 'drizzle-orm/pg-core';
import { instant, ledger } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

const roleName = customType<{ data: string }>({ dataType: () => 'name' });

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

/** Roles that see the rows of some wallets only, one row for each role and wallet. */
export const readerWallets = engine.table(
  'reader_wallets',
  { wallet: text('wallet').notNull(), role: roleName('role').notNull() },
  (table) => [primaryKey({ columns: [table.wallet, table.role] })],
);
