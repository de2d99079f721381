import type { WalletClient } from '../service/wallet-client.ts';
import { type Finding, okFinding, warningFinding } from './finding.ts';
import type { StreamName } from './read-samples.ts';

const pagesMax = 30;

/** Compares `totalSize` with a count of all rows of a list, if the list has at most 30 pages. */
export async function checkTotal(
  client: WalletClient,
  list: { type: StreamName; pageSize: number },
  signal: AbortSignal,
): Promise<Finding> {
  const name = 'total-size';
  const orderNos = new Set<string>();
  const totals: number[] = [];
  let unreadable = 0;
  for (let pageNo = 1; pageNo <= pagesMax; pageNo += 1) {
    const page = await client.listTransactions({ ...list, pageNo }, signal);
    if (page.totalSize === null) {
      const cure = 'completeness can only be proven by counting: expect longer walks';
      return warningFinding(name, 'the answers have no usable totalSize', cure);
    }
    totals.push(page.totalSize);
    const sizeBefore = orderNos.size;
    for (const { orderNo } of page.records) orderNos.add(orderNo);
    unreadable += page.listed - page.records.length;
    const isEnd = page.listed < page.pageSize || orderNos.size === sizeBefore;
    if (isEnd) return judge(name, list.type, orderNos.size + unreadable, totals);
  }
  const seen = `not counted: the list of type ${list.type} has more than ${pagesMax} pages of ${list.pageSize} rows`;
  return warningFinding(name, seen, '`wallet-ledger verify` reads it all');
}

/** Rows may arrive during the full scan, so any total between the lowest and the highest reported one is correct. */
function judge(name: string, type: StreamName, counted: number, totals: number[]): Finding {
  const [low, high] = [Math.min(...totals), Math.max(...totals)];
  const told = low === high ? `${low}` : `${low} to ${high}`;
  const seen = `the list of type ${type} has ${counted} rows, totalSize says ${told}`;
  if (counted >= low && counted <= high) return okFinding(name, seen);
  const cure =
    'run the command again; where they stay apart ask the service whether totalSize is an estimate: it would keep the ledger from being proven complete';
  return warningFinding(name, seen, cure);
}
