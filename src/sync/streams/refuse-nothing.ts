import { LedgerError } from '../../kernel/errors.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { readListed } from '../../ledger/lists/stream-store.ts';
import type { ListedPage } from '../list/list-pages.ts';
import { type ListState, missingRows } from '../list/list-state.ts';
import type { Stream } from './stream.ts';

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
  if (rows > 0) {
    const cure =
      'ask the operator of the service: a list that has become empty needs an empty page';
    throw faultOf(`nothing in place of the list ${name}`, rows, cure);
  }
}

/**
 * Returns a function that refuses a page which shows the list without rows, if that is most likely a fault. A list that
 * the last pass has believed to be empty is no longer suddenly so. A total of 0 that a scan has explained is not that
 * of an empty list: the service counts wrong.
 */
export function createRefusal(
  db: LedgerDb,
  { name, hasRanks }: Pick<Stream<unknown>, 'name' | 'hasRanks'>,
  state: ListState,
): (page: FirstPage) => Promise<void> {
  const isKnownEmpty = state.checkpoint.lastSeen?.total === 0 && missingRows(state) !== 0;
  const mayBeSudden = hasRanks && !isKnownEmpty;
  return async (page) => {
    await refuseNothing(db, name, page);
    if (mayBeSudden) await refuseSuddenlyEmpty(db, name, page);
  };
}

/**
 * Throws LedgerError `service-malformed` if a list that was read with its rows a moment ago is empty: a service that
 * builds its index anew, say. Passes then fail until the list has rows again, or has been empty for ten minutes.
 */
async function refuseSuddenlyEmpty(
  db: LedgerDb,
  name: string,
  { page, listed }: FirstPage,
): Promise<void> {
  if (page > 1 || listed > 0) return;
  const { rows, readAgoMs } = await readListed(db, name);
  if (rows >= rowsOfHistory && readAgoMs !== null && readAgoMs < emptyMs) {
    const cure =
      'ask the operator of the service; if it has removed them all, run `wallet-ledger verify --repair`';
    throw faultOf(`the list ${name} is suddenly empty`, rows, cure);
  }
}

function faultOf(what: string, rows: number, cure: string): LedgerError {
  const message = `${what}, of which the ledger has ${rows} rows`;
  return new LedgerError('service-malformed', message, { cure });
}
