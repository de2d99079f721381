import type { Settings } from '../../config/settings.ts';
import { settingsOfWallet } from '../../config/settings-of-wallet.ts';
import { LedgerError } from '../../kernel/errors.ts';

/** Option of a command that concerns one wallet. */
export type WalletOption = { wallet?: string };

/** Names of wallets, as in WALLETS. */
const walletName = /^[a-z][a-z0-9_]*$/;

/**
 * Returns the settings for the wallet that the option names, or for the only one. Throws LedgerError `usage` if there
 * are several and none is named, or for a name that WALLETS does not have. With `mayRest` such a name is accepted: the
 * settings then have nothing of that wallet but its name.
 */
export function chooseWallet(
  settings: Settings,
  { wallet }: WalletOption,
  mayRest = false,
): Settings {
  const isUnset = wallet !== undefined && !settings.walletNames.includes(wallet);
  if (isUnset && mayRest && walletName.test(wallet)) return { ...settings, wallet };
  if (wallet !== undefined) return settingsOfWallet(settings, wallet);
  if (settings.walletNames.length === 1) return settings;
  throw new LedgerError('usage', 'WALLETS names several wallets, and this command concerns one', {
    cure: `add --wallet with one of ${settings.walletNames.join(', ')}`,
  });
}
