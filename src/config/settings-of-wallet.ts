import { LedgerError } from '../kernel/errors.ts';
import type { Settings } from './settings.ts';

/**
 * Returns the settings with the groups of the wallet `name`. Throws LedgerError 'usage' if WALLETS does not have that
 * name.
 */
export function settingsOfWallet(settings: Settings, name: string): Settings {
  const found = settings.wallets.find((wallet) => wallet.name === name);
  if (!found) {
    const known = settings.walletNames.join(', ');
    throw new LedgerError('usage', `WALLETS names no wallet ${JSON.stringify(name)}`, {
      cure: `use a name of WALLETS: ${known}; a wallet of the ledger that WALLETS does not name rests, and \`wallet-ledger show\` and its pages show its rows`,
    });
  }
  const { name: wallet, ...groups } = found;
  return { ...settings, wallet, ...groups };
}
