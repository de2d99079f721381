import { createHash } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { LedgerError } from '../kernel/errors.ts';
import type { LedgerDb } from './connection/connect-ledger.ts';
import { wallets } from './schema/wallets.ts';

/** Identity of the wallet that a ledger belongs to; `baseUrl` has no trailing slash. */
export type WalletIdentity = { baseUrl: string; keyFingerprint: string };

/**
 * Returns the fingerprint of a key. `publicKey` is the same text for every signature recipe; without one, the value of
 * BIZ-API-KEY counts (docs/wallet-service-api.md, section 5).
 */
export function fingerprintOf(signer: { apiKey: string; publicKey?: string }): string {
  const key = (signer.publicKey ?? signer.apiKey).trim().toLowerCase();
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}

/** Returns null if nothing was stored yet. */
export async function readWalletIdentity(db: LedgerDb): Promise<WalletIdentity | null> {
  const { wallet, baseUrl, keyFingerprint } = wallets;
  const isMain = eq(wallet, 'main');
  const [found] = await db.select({ baseUrl, keyFingerprint }).from(wallets).where(isMain);
  return found ?? null;
}

/** Throws LedgerError `settings` if the ledger belongs to another wallet. Returns false if it belongs to none yet. */
export async function requireWallet(db: LedgerDb, own: WalletIdentity): Promise<boolean> {
  const stored = await readWalletIdentity(db);
  const differing = stored && compareIdentities(stored, own);
  if (differing) throw new LedgerError('settings', differing, { cure: otherWalletCure });
  return stored !== null;
}

/** Makes a ledger without a wallet this wallet's. Throws as `requireWallet` if another wallet was faster. */
export async function claimWallet(db: LedgerDb, own: WalletIdentity): Promise<void> {
  const row = { wallet: 'main', ...own, firstSeenAt: sql`now()` };
  await db.insert(wallets).values(row).onConflictDoNothing();
  await requireWallet(db, own);
}

/** Returns the differences in words, or null if it is the same wallet. */
export function compareIdentities(stored: WalletIdentity, own: WalletIdentity): string | null {
  const differing = [
    ...(stored.baseUrl === own.baseUrl
      ? []
      : [`WALLET_BASE_URL is ${own.baseUrl} and not ${stored.baseUrl}`]),
    ...(stored.keyFingerprint === own.keyFingerprint
      ? []
      : ['WALLET_API_SECRET or WALLET_API_KEY contains another key']),
  ];
  if (differing.length === 0) return null;
  return `this ledger belongs to another wallet: ${differing.join(', and ')}`;
}

export const otherWalletCure =
  'for another wallet, set DATABASE_URL to another database; after a key rotation or a new service address, run `wallet-ledger migrate --wallet-key` once';

/** Makes the ledger this wallet's, also if it was another's: the key was rotated, or the service has moved. */
export async function acceptWallet(db: LedgerDb, own: WalletIdentity): Promise<void> {
  await db.execute(sql`
    insert into ledger.wallets as w (wallet, base_url, key_fingerprint, first_seen_at)
    values ('main', ${own.baseUrl}, ${own.keyFingerprint}, now())
    on conflict (wallet) do update set base_url = excluded.base_url, key_fingerprint = excluded.key_fingerprint
     where (w.base_url, w.key_fingerprint) <> (excluded.base_url, excluded.key_fingerprint)`);
}
