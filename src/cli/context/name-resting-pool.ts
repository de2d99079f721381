import { LedgerError, toError } from '../../kernel/errors.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import { listOtherWallets } from '../../ledger/list-other-wallets.ts';
import type { CommandContext } from './command-context.ts';

/**
 * Returns a handler for the error of a chain that is refused. It throws LedgerError `usage` if the chain's pool is one
 * of a wallet that WALLETS does not name, and the same error otherwise.
 */
export function nameRestingPool({ settings }: CommandContext, ledger: Ledger, slip44: number) {
  return async (thrown: unknown): Promise<never> => {
    const cause = toError(thrown);
    const known = databaseError(cause);
    if (!(known instanceof LedgerError) || known.code !== 'usage') throw cause;
    const [other] = await listOtherWallets(ledger.db, settings.walletNames, slip44);
    if (other === undefined) throw cause;
    const state = other.isResting ? 'rests' : 'is not named by WALLETS here';
    const message = `the pool of chain ${slip44} is one of the wallet ${other.name}, which ${state}: \`pool take\` hands out none of its addresses`;
    throw new LedgerError('usage', message, {
      cause,
      cure: `to take one, name ${other.name} in WALLETS again, and start the daemons again`,
    });
  };
}
