import { LedgerError, toError } from '../../kernel/errors.ts';
import { takeAddress } from '../../ledger/addresses/pool-store.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import { listOtherWallets, type OtherWallet } from '../../ledger/list-other-wallets.ts';
import type { CommandContext } from './command-context.ts';

/**
 * Takes an address as `takeAddress` does. If the chain is refused because its pool is one of a wallet that WALLETS does
 * not name, throws LedgerError `usage` with that wallet.
 */
export async function takeFromPool(
  { settings }: CommandContext,
  ledger: Ledger,
  slip44: number,
  reference: string | null,
): Promise<string | null> {
  try {
    return await takeAddress(ledger.db, slip44, reference);
  } catch (error) {
    const known = databaseError(toError(error));
    if (!(known instanceof LedgerError) || known.code !== 'usage') throw error;
    const [other] = await listOtherWallets(ledger.db, settings.walletNames, slip44);
    if (other === undefined) throw error;
    throw otherPool(other, slip44, error);
  }
}

function otherPool({ name, isResting }: OtherWallet, slip44: number, cause: unknown): LedgerError {
  const state = isResting ? 'rests' : 'is not named by WALLETS here';
  const message = `the pool of chain ${slip44} is one of the wallet ${name}, which ${state}: \`pool take\` hands out none of its addresses`;
  const cure = `to take one, name ${name} in WALLETS again, and start the daemons again`;
  return new LedgerError('usage', message, { cause, cure });
}
