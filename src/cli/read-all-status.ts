import type { Settings } from '../config/settings.ts';
import { settingsOfWallet } from '../config/settings-of-wallet.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import { joinStatus } from '../ledger/reports/join-status.ts';
import type { LedgerStatus } from '../ledger/reports/ledger-status.ts';
import { readStatus } from '../ledger/reports/read-status.ts';

/** Reads the status of the wallets of the settings, or only of `wallet`, and joins it. */
export async function readAllStatus(
  ledger: Ledger,
  settings: Settings,
  wallet?: string,
): Promise<LedgerStatus> {
  const statuses = [];
  // One after the other: a status must not take the daemon's connections.
  for (const name of wallet === undefined ? settings.walletNames : [wallet]) {
    const { chains } = settingsOfWallet(settings, name).pools;
    statuses.push(await readStatus(ledger.forWallet(name).db, chains));
  }
  return joinStatus(statuses);
}
