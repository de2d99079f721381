import { harmlessText } from '../kernel/spreadsheet-text.ts';
import type { Books, PostingRow } from '../ledger/reports/books.ts';
import { dayOf, isoTime } from './journal-format.ts';

const columns = [
  'date',
  'time',
  'order_no',
  'posting_no',
  'type',
  'account',
  'symbol',
  'amount',
  'tx_hash',
];

/**
 * Writes one line per posting, after RFC 4180: UTF-8, a header, CRLF. Calls `count` with the number of postings of each
 * batch.
 */
export async function* writeCsv(
  books: Books,
  count: (postings: number) => void,
): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`;
  for await (const rows of books.postings()) {
    count(rows.length);
    yield rows.map(lineOf).join('');
  }
}

function lineOf(row: PostingRow): string {
  const { orderNo, postingNo, bookedAt, stream, account, symbol, amount, txHash } = row;
  return `${[
    dayOf(bookedAt),
    isoTime(bookedAt),
    csvText(orderNo),
    postingNo,
    csvText(stream),
    csvText(account),
    csvText(symbol),
    // PostgreSQL wrote this number, so its minus sign begins no formula.
    amount,
    csvText(txHash ?? ''),
  ].join(',')}\r\n`;
}

/** Writes a text as a field that no spreadsheet takes for a formula. */
export function csvText(text: string): string {
  const harmless = harmlessText(text);
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
