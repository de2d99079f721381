import { LedgerError } from '../../kernel/errors.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { readListed } from '../../ledger/lists/stream-store.ts';
import type { ListedPage } from '../list/list-pages.ts';

/** Time (ms) for which a list must have been empty before its rows count as no longer listed. */
const emptyMs = 600_000;
/** Rows of a list that do not vanish at once; a few may. */
const rowsOfHistory = 10;

type FirstPage = Pick<ListedPage<unknown>, 'page' | 'listed' | 'content'>;

/**
 * Throws LedgerError `service-malformed` if nothing came in place of a list of which the ledger has rows: believed, it
 * would mark all of them as no longer listed.
 */
export async function refuseNothing(db: LedgerDb, name: string, first: FirstPage): Promise<void> {
  const { rows } = first.content.isNothing ? await readListed(db, name) : { rows: 0 };
  if (rows > 0) throw faultOf(`nothing in place of the list ${name}`, rows);
}

/**
 * Throws LedgerError `service-malformed` if a list that was read with its rows a moment ago is empty: a service that
 * builds its index anew, say. Passes then fail until the list has rows again, or has been empty for ten minutes.
 */
export async function refuseSuddenlyEmpty(
  db: LedgerDb,
  name: string,
  { page, listed }: FirstPage,
): Promise<void> {
  if (page > 1 || listed > 0) return;
  const { rows, readAgoMs } = await readListed(db, name);
  if (rows >= rowsOfHistory && readAgoMs !== null && readAgoMs < emptyMs)
    throw faultOf(`the list ${name} is suddenly empty`, rows);
}

function faultOf(what: string, rows: number): LedgerError {
  const message = `${what}, of which the ledger has ${rows} rows`;
  return new LedgerError('service-malformed', message, {
    cure: 'ask the operator of the service; if it has removed them all, run `wallet-ledger verify --repair`',
  });
}
