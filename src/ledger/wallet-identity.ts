import { createHash } from 'node:crypto';
import { and, eq, ne, sql } from 'drizzle-orm';
import { LedgerError } from '../kernel/errors.ts';
import type { LedgerDb } from './connection/connect-ledger.ts';
import { out, query } from './connection/query-rows.ts';
import { wallets } from './schema/wallets.ts';

/** Identity of a wallet that a ledger keeps; `baseUrl` has no trailing slash. */
export type WalletIdentity = { baseUrl: string; keyFingerprint: string };

/** As much of an identity as the settings name; null: not set. */
export type NamedIdentity = { [Field in keyof WalletIdentity]: WalletIdentity[Field] | null };

/**
 * Returns the fingerprint of a key. `publicKey` is the same text for every signature recipe; without one, the value of
 * BIZ-API-KEY counts (docs/wallet-service-api.md, section 5).
 */
export function fingerprintOf(signer: { apiKey: string; publicKey?: string }): string {
  const key = (signer.publicKey ?? signer.apiKey).trim().toLowerCase();
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}

/** Returns null if nothing was stored yet for the wallet of this name. */
export async function readWalletIdentity(
  db: LedgerDb,
  name: string,
): Promise<WalletIdentity | null> {
  const { wallet, baseUrl, keyFingerprint } = wallets;
  const isNamed = eq(wallet, name);
  const [found] = await db.select({ baseUrl, keyFingerprint }).from(wallets).where(isNamed);
  return found ?? null;
}

/**
 * Throws LedgerError `settings` if the ledger keeps another wallet under this name, or the same wallet under another
 * name. Returns false if it keeps none under this name yet. Compares what is named of the identity.
 */
export async function requireWallet(
  db: LedgerDb,
  name: string,
  own: NamedIdentity,
): Promise<boolean> {
  const stored = await readWalletIdentity(db, name);
  refuseOther(stored, own);
  if (stored === null) await requireNewKey(db, name, own);
  return stored !== null;
}

/** Throws LedgerError `settings` if the ledger keeps another wallet than the named one. */
export function refuseOther(stored: WalletIdentity | null, own: NamedIdentity): void {
  const differing = stored && compareIdentities(stored, own);
  if (differing) throw new LedgerError('settings', differing, { cure: otherWalletCure });
}

/**
 * Claims the name for this wallet. Throws as `requireWallet` if another wallet was faster, and LedgerError
 * `earlier-version` if it is not `main` while a version that knows one wallet only is at work.
 */
export async function claimWallet(db: LedgerDb, name: string, own: WalletIdentity): Promise<void> {
  if (name !== 'main') await requireNoEarlierVersion(db, name);
  const row = { wallet: name, ...own, firstSeenAt: sql`now()` };
  await db.insert(wallets).values(row).onConflictDoNothing();
  await requireWallet(db, name, own);
}

/** Statements of a version that knows one wallet only would reach the rows of all wallets. */
async function requireNoEarlierVersion(db: LedgerDb, name: string): Promise<void> {
  const sessions = await query(db)`
    select pid || coalesce(' from ' || host(client_addr), '') as ${out('place', String)} from pg_stat_activity
     where datname = current_database() and application_name ~ '^wallet-ledger [0-9a-f]{8}-'
     order by pid limit 3`;
  if (sessions.length === 0) return;
  const places = sessions.map(({ place }) => place).join(', ');
  throw new LedgerError(
    'earlier-version',
    `wallet "${name}" cannot be added while an earlier version of wallet-ledger is connected (session ${places})`,
  );
}

/** Throws LedgerError `settings` if another wallet of the ledger has this key at this service. */
export async function requireNewKey(db: LedgerDb, name: string, own: NamedIdentity): Promise<void> {
  const { wallet, baseUrl, keyFingerprint } = wallets;
  if (own.baseUrl === null || own.keyFingerprint === null) return;
  const isSame = and(
    ne(wallet, name),
    eq(baseUrl, own.baseUrl),
    eq(keyFingerprint, own.keyFingerprint),
  );
  const [found] = await db.select({ wallet }).from(wallets).where(isSame);
  if (!found) return;
  throw new LedgerError('settings', `this key is already wallet "${found.wallet}" of this ledger`, {
    cure: `use the name ${found.wallet} for it in WALLETS, or set another key`,
  });
}

/** Returns the differences in words, or null if all named parts are equal. */
function compareIdentities(stored: WalletIdentity, own: NamedIdentity): string | null {
  const differing = [
    ...(own.baseUrl === null || stored.baseUrl === own.baseUrl
      ? []
      : [`WALLET_BASE_URL is ${own.baseUrl} and not ${stored.baseUrl}`]),
    ...(own.keyFingerprint === null || stored.keyFingerprint === own.keyFingerprint
      ? []
      : ['WALLET_API_SECRET or WALLET_API_KEY contains another key']),
  ];
  if (differing.length === 0) return null;
  return `this ledger belongs to another wallet: ${differing.join(', and ')}`;
}

const otherWalletCure =
  'if a setting is mistaken, correct it; for another wallet, set DATABASE_URL to another database; after a key rotation or a new service address, run `wallet-ledger migrate --wallet-key` once';

/**
 * Gives the name to this wallet, also if it was another's: the key was rotated, or the service has moved. Throws
 * LedgerError `settings` if another wallet of the ledger has this key.
 */
export async function acceptWallet(db: LedgerDb, name: string, own: WalletIdentity): Promise<void> {
  await requireNewKey(db, name, own);
  await db.execute(sql`
    insert into ledger.wallets as w (wallet, base_url, key_fingerprint, first_seen_at)
    values (${name}, ${own.baseUrl}, ${own.keyFingerprint}, now())
    on conflict (wallet) do update set base_url = excluded.base_url, key_fingerprint = excluded.key_fingerprint
     where (w.base_url, w.key_fingerprint) <> (excluded.base_url, excluded.key_fingerprint)`);
}

/** Returns the wallets that rest, by name, with the address that each was read from. */
export async function listResting(db: LedgerDb): Promise<{ wallet: string; baseUrl: string }[]> {
  const { wallet, baseUrl, isResting } = wallets;
  return await db
    .select({ wallet, baseUrl })
    .from(wallets)
    .where(eq(isResting, true))
    .orderBy(wallet);
}

/** Marks all wallets but the named ones as resting, and these as not resting. Writes only what changes. */
export async function markResting(db: LedgerDb, names: readonly string[]): Promise<void> {
  const isNamed = sql`(wallet = any(${sql.param([...names])}::text[]))`;
  await db.execute(
    sql`update ledger.wallets set is_resting = not ${isNamed} where is_resting = ${isNamed}`,
  );
}
