import { LedgerError } from '../../kernel/errors.ts';
import type { Page } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { countListed } from '../../ledger/lists/stream-store.ts';

/**
 * Throws LedgerError `service-malformed` if nothing came in place of a list of which the ledger has rows: believed, it
 * would mark all of them as no longer listed.
 */
export async function refuseNothing(
  db: LedgerDb,
  name: string,
  { isNothing }: Pick<Page<unknown>, 'isNothing'>,
): Promise<void> {
  const rows = isNothing ? await countListed(db, name) : 0;
  if (rows === 0) return;
  const message = `nothing in place of the list ${name}, of which the ledger has ${rows} rows`;
  throw new LedgerError('service-malformed', message);
}
