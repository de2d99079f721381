import { LedgerError } from '../../kernel/errors.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { countListed, noteEmptiness } from '../../ledger/lists/stream-store.ts';
import type { ListedPage } from '../list/list-pages.ts';
import type { Stream } from './stream.ts';

/** Time (ms) for which a list must have been empty before its rows count as no longer listed. */
export const emptyMs = 600_000;
/** Number of rows from which a list that is suddenly empty is taken for a fault. */
const rowsOfHistory = 10;

type FirstPage = Pick<ListedPage<unknown>, 'page' | 'listed' | 'content'>;

/**
 * Throws LedgerError `service-malformed` if a list of which the ledger has rows was answered without a list. If the
 * answer were believed, all these rows would be marked as no longer listed.
 */
export async function refuseNothing(db: LedgerDb, name: string, first: FirstPage): Promise<void> {
  const rows = first.content.isNothing ? await countListed(db, name) : 0;
  if (rows > 0) {
    const cure =
      'ask the operator of the service: a list that has become empty needs an empty page';
    throw faultOf(`an answer without the list ${name}`, rows, cure);
  }
}

/**
 * Returns a function that refuses a page which shows the list without rows, until it has been empty for ten minutes:
 * the service may just be rebuilding its index. `emptyForMs`: time for which it had been empty when the pass began.
 */
export function createRefusal(
  db: LedgerDb,
  { name, hasRanks }: Pick<Stream<unknown>, 'name' | 'hasRanks'>,
  emptyForMs: number | null,
): (page: FirstPage) => Promise<void> {
  let isNotedEmpty = emptyForMs !== null;
  return async (page) => {
    await refuseNothing(db, name, page);
    const isEmpty = page.listed === 0;
    // Any page with rows shows that the list is not empty; only the first page can show that it is empty.
    if (!hasRanks || (isEmpty && page.page > 1)) return;
    if (isEmpty !== isNotedEmpty) await noteEmptiness(db, name, isEmpty);
    isNotedEmpty = isEmpty;
    if (isEmpty && (emptyForMs ?? 0) < emptyMs) await refuseSuddenlyEmpty(db, name);
  };
}

async function refuseSuddenlyEmpty(db: LedgerDb, name: string): Promise<void> {
  const rows = await countListed(db, name);
  if (rows < rowsOfHistory) return;
  const cure =
    'ask the operator of the service; if it has removed them all, run `wallet-ledger verify --repair`';
  throw faultOf(`the list ${name} is suddenly empty`, rows, cure);
}

function faultOf(what: string, rows: number, cure: string): LedgerError {
  const message = `${what}, of which the ledger has ${rows} rows`;
  return new LedgerError('service-malformed', message, { cure });
}
