import type { Settings } from '../../config/settings.ts';
import { settingsOfWallet } from '../../config/settings-of-wallet.ts';
import { LedgerError } from '../../kernel/errors.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { isForbidden } from '../../ledger/connection/postgres-codes.ts';
import { requireWallet } from '../../ledger/wallet-identity.ts';
import { type CommandContext, failureLine, forWallet } from './command-context.ts';
import { identityOfSettings } from './open-wallet.ts';

/**
 * Throws LedgerError `settings` if the settings name another wallet than the ledger keeps. For a command that changes
 * something and does not use the service. Settings without an address and without a key name no wallet. `wallets`:
 * those that the command changes.
 */
export async function refuseOtherWallet(
  context: CommandContext,
  ledger: Ledger,
  wallets: readonly string[] = [context.settings.wallet],
): Promise<void> {
  for (const name of wallets) await compare(context, ledger, name, true);
}

/** Says in one line on stderr that the settings name another wallet, for a command that only shows the ledger. */
export async function sayOtherWallet(
  context: CommandContext,
  ledger: Ledger,
  wallets: readonly string[] = [context.settings.wallet],
): Promise<void> {
  for (const name of wallets) {
    try {
      await compare(context, ledger, name, false);
    } catch (error) {
      if (!(error instanceof LedgerError) || error.code !== 'settings') throw error;
      process.stderr.write(context.redact(`${failureLine(error, false)}\n`));
    }
  }
}

/** `mayLoad`: runs the user's signer module, because only the module knows its key. */
async function compare(
  { settings, env }: CommandContext,
  ledger: Ledger,
  name: string,
  mayLoad: boolean,
): Promise<void> {
  const own = { settings: settingsOfWallet(settings, name), env };
  try {
    await requireWallet(ledger.db, name, await identityOfSettings(own, { mayLoad }));
  } catch (error) {
    // A role that may only take addresses does not see which wallet the ledger keeps.
    if (isForbidden(error)) return;
    throw error instanceof LedgerError ? namingWallet(own.settings, error) : error;
  }
}

/** Returns the error with the wallet in the commands of its cure. */
function namingWallet(settings: Settings, error: LedgerError): LedgerError {
  const { code, message, cure } = error;
  return new LedgerError(code, message, { cause: error, cure: forWallet(settings, cure) });
}
