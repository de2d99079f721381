import { createServer } from 'node:http';
import type { TransactionType } from '../../src/kernel/vocabulary.ts';
import { closeServer, listen } from '../support/listen.ts';
import { type VirtualHistory, type VirtualRow, virtualRow } from './virtual-history.ts';

/** The service's transaction lists over a virtual history, newest first, with an exact total and no signature check. */
export type VirtualService = {
  /** Part of the service's address before `/v1`. */
  baseUrl: string;
  /** List requests so far. */
  requests(): number;
  /** Adds rows at the head. */
  append(type: TransactionType, rows: number): void;
  /** Adds a row whose time is earlier than that of row n; returns its order number. */
  insertLate(type: TransactionType, n: number): string;
  /** Removes row n for good; returns its order number. */
  remove(type: TransactionType, n: number): string;
  close(): Promise<void>;
};

/** Differences from the plain row numbers: few entries for a list of any length. */
type List = { rows: number; late: { behind: number; orderNo: string }[]; removed: Set<number> };

export async function startVirtualService(history: VirtualHistory): Promise<VirtualService> {
  const newList = (rows: number): List => ({ rows, late: [], removed: new Set() });
  const lists: Record<TransactionType, List> = {
    deposit: newList(history.counts.deposit),
    withdraw: newList(history.counts.withdraw),
  };
  let requests = 0;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service');
    const type = searchParams.get('type') === 'withdraw' ? 'withdraw' : 'deposit';
    if (pathname !== '/v1/transaction/list') {
      response.writeHead(404).end();
      return;
    }
    requests += 1;
    const text = pageText(history, type, lists[type], searchParams);
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  });
  server.keepAliveTimeout = 600_000;
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    requests: () => requests,
    append(type, rows) {
      lists[type].rows += rows;
    },
    insertLate(type, behind) {
      const { late } = lists[type];
      const orderNo = `${virtualRow(history, type, behind).orderNo}-late-${late.length}`;
      late.push({ behind, orderNo });
      return orderNo;
    },
    remove(type, n) {
      lists[type].removed.add(n);
      return virtualRow(history, type, n).orderNo;
    },
    close: () => closeServer(server),
  };
}

function pageText(
  history: VirtualHistory,
  type: TransactionType,
  list: List,
  query: URLSearchParams,
): string {
  const pageNo = Number(query.get('pageNo') ?? 1);
  const pageSize = Math.min(100, Number(query.get('pageSize') ?? 10));
  const totalSize = list.rows + list.late.length - list.removed.size;
  const totalPages = Math.ceil(totalSize / pageSize);
  const rows: VirtualRow[] = [];
  const start = (pageNo - 1) * pageSize;
  for (let place = start; place < Math.min(start + pageSize, totalSize); place += 1) {
    rows.push(rowOfRank(history, type, list, totalSize - 1 - place));
  }
  const data = {
    pageNo,
    pageSize,
    totalSize,
    totalPages,
    list: rows,
    prevPage: Math.max(1, pageNo - 1),
    nextPage: Math.min(totalPages, pageNo + 1),
  };
  return JSON.stringify({ code: 0, data, msg: 'success' });
}

/** The row with this number of older ones. Row n comes before the late ones behind it. */
function rowOfRank(
  history: VirtualHistory,
  type: TransactionType,
  list: List,
  rank: number,
): VirtualRow {
  let low = 0;
  let high = list.rows - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (rowsBefore(list, middle) <= rank) low = middle;
    else high = middle - 1;
  }
  const row = virtualRow(history, type, low);
  const beyond = rank - rowsBefore(list, low) - (list.removed.has(low) ? 0 : 1);
  const late = list.late.filter(({ behind }) => behind === low)[beyond];
  if (!late) return row;
  return { ...row, orderNo: late.orderNo, time: row.time + Math.floor(history.stepMs / 2) };
}

/** Rows of the list that are older than row n. */
function rowsBefore(list: List, n: number): number {
  let rows = n;
  for (const { behind } of list.late) if (behind < n) rows += 1;
  for (const removed of list.removed) if (removed < n) rows -= 1;
  return rows;
}
