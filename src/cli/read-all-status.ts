import type { Settings } from '../config/settings.ts';
import { settingsOfWallet } from '../config/settings-of-wallet.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import { joinStatus } from '../ledger/reports/join-status.ts';
import type { LedgerStatus, WalletStatus } from '../ledger/reports/ledger-status.ts';
import { readStatus } from '../ledger/reports/read-status.ts';

/**
 * Reads the status of `wallet`, or of all wallets, and joins it. All wallets are those of the settings and those that
 * another daemon reads, because otherwise their problems would be hidden. A resting wallet is not read.
 */
export async function readAllStatus(
  ledger: Ledger,
  settings: Settings,
  wallet?: string,
): Promise<LedgerStatus> {
  const statuses: LedgerStatus[] = [];
  // Reads one after the other, so that the daemon keeps its connections.
  for (const name of wallet === undefined ? settings.walletNames : [wallet]) {
    const { chains } = settingsOfWallet(settings, name).pools;
    statuses.push(await readStatus(ledger.forWallet(name).db, chains));
  }
  for (const name of wallet === undefined ? othersOf(statuses, settings) : [])
    statuses.push(await readStatus(ledger.forWallet(name).db, []));
  const wallets = walletsOf(statuses).filter(({ name }) => (wallet ?? name) === name);
  return { ...joinStatus(statuses), wallets };
}

/** Returns the wallets of the ledger that a daemon reads and these settings do not have. */
function othersOf([first]: readonly LedgerStatus[], { walletNames }: Settings): string[] {
  const others = first?.wallets.filter(({ name }) => !walletNames.includes(name)) ?? [];
  return others.filter(({ isResting }) => !isResting).map(({ name }) => name);
}

/** Returns every wallet once, by name, with its counts if they were read. */
function walletsOf(statuses: readonly LedgerStatus[]): WalletStatus[] {
  const all = statuses.flatMap(({ wallets }) => wallets);
  const known = new Map(all.map((wallet) => [wallet.name, wallet]));
  for (const wallet of all) if (wallet.counts) known.set(wallet.name, wallet);
  return [...known.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}
