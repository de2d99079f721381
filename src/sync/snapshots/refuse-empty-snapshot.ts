import { LedgerError } from '../../kernel/errors.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { noteEmptySnapshot, type SnapshotName } from '../../ledger/snapshots/store-snapshot.ts';
import { emptyMs } from '../streams/refuse-nothing.ts';

/** Words for the rows that the ledger has while the service names none. */
const held: Record<SnapshotName, (n: number) => string> = {
  balances: (n: number) => `has ${n === 1 ? 'one that is' : `${n} that are`} not 0`,
  coins: (n: number) => `lists ${n === 1 ? 'one' : n}`,
};

/**
 * Throws service-malformed for an answer without any row while the ledger has balances that are not 0, or lists coins,
 * until the answers have been empty for as long as a list of transactions must be. If a transient fault were believed,
 * it would unlist all rows: each balance would differ from its transactions, and each coin would seem withdrawn.
 */
export async function refuseEmptySnapshot(db: LedgerDb, name: SnapshotName): Promise<void> {
  const noted = await noteEmptySnapshot(db, name);
  if (!noted || noted.emptyForMs >= emptyMs) return;
  const message = `the list of ${name} is suddenly empty, and the ledger ${held[name](noted.held)}`;
  const cure =
    'ask the operator of the service; a list that is still empty after ten minutes is accepted';
  throw new LedgerError('service-malformed', message, { cure });
}
