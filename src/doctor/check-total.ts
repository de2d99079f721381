import type { TransactionType } from '../kernel/vocabulary.ts';
import { isListRefusal } from '../service/see-chain-filter.ts';
import type { WalletClient } from '../service/wallet-client.ts';
import { type Finding, okFinding, warningFinding } from './finding.ts';

const pagesMax = 30;

/** Compares `totalSize` with a count of all rows of a list, if the list has at most 30 pages. */
export async function checkTotal(
  client: WalletClient,
  list: { type: TransactionType; pageSize: number },
  signal: AbortSignal,
): Promise<Finding> {
  const name = 'total-size';
  const orderNos = new Set<string>();
  const totals: number[] = [];
  let unreadable = 0;
  const counted = () => orderNos.size + unreadable;
  for (let pageNo = 1; pageNo <= pagesMax; pageNo += 1) {
    const page = await client.listTransactions({ ...list, pageNo }, signal).catch((error) => {
      // Some services refuse a page after the end.
      if (isListRefusal(error) && counted() === totals.at(-1)) return null;
      throw error;
    });
    if (page === null) return judge(name, list.type, counted(), totals);
    if (page.totalSize === null) {
      const cure =
        'without totals the lists cannot be proven complete; ask the operator of the service for totalSize';
      return warningFinding(name, 'the answers have no usable totalSize', cure);
    }
    totals.push(page.totalSize);
    const sizeBefore = orderNos.size;
    for (const { orderNo } of page.records) orderNos.add(orderNo);
    unreadable += page.listed - page.records.length;
    const isEnd = page.listed < page.pageSize || orderNos.size === sizeBefore;
    if (isEnd) return judge(name, list.type, counted(), totals);
  }
  const seen = `not counted: the list of type ${list.type} has more than ${pagesMax} pages of ${list.pageSize} rows`;
  return warningFinding(name, seen, 'run `wallet-ledger verify`, which reads the whole list');
}

/** Rows may arrive during the full scan, so any total between the lowest and the highest reported one is correct. */
function judge(name: string, type: TransactionType, counted: number, totals: number[]): Finding {
  const [low, high] = [Math.min(...totals), Math.max(...totals)];
  const range = low === high ? `${low}` : `${low} to ${high}`;
  const seen = `the list of type ${type} has ${counted} rows, totalSize says ${range}`;
  if (counted >= low && counted <= high) return okFinding(name, seen);
  const cure =
    'run the command again; if they still differ, ask the operator of the service if totalSize is an estimate: with an estimate the ledger cannot be proven complete';
  return warningFinding(name, seen, cure);
}
