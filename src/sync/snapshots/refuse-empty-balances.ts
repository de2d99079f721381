import { LedgerError } from '../../kernel/errors.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { noteEmptyBalances } from '../../ledger/snapshots/balance-store.ts';
import { emptyMs } from '../streams/refuse-nothing.ts';

/**
 * Throws service-malformed for an answer without any balance while the ledger has some that are not 0, until the
 * answers have been empty for as long as a list of transactions must be. Believed at once, a fault of a moment would
 * unlist all balances, and each would differ from its transactions.
 */
export async function refuseEmptyBalances(db: LedgerDb): Promise<void> {
  const noted = await noteEmptyBalances(db);
  if (!noted || noted.emptyForMs >= emptyMs) return;
  const has = noted.held === 1 ? 'one that is' : `${noted.held} that are`;
  const message = `the list of balances is suddenly empty, and the ledger has ${has} not 0`;
  const cure =
    'ask the operator of the service; a list that is still empty after ten minutes counts as true';
  throw new LedgerError('service-malformed', message, { cure });
}
