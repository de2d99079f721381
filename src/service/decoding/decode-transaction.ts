import type {
  Decoded,
  Reject,
  TransactionDetailRecord,
  TransactionRecord,
} from '../../kernel/wallet-records.ts';
import { limits } from '../limits.ts';
import {
  decodeRows,
  type FieldTable,
  type RawRow,
  type RowDecoder,
  rowDecoder,
} from './decode-rows.ts';
import {
  readAmount,
  readCount,
  readIdentity,
  readKey,
  readOptionalDecimal,
  readText,
  readTime,
} from './field-readers.ts';
import { extraText, payloadText } from './json-text.ts';

/**
 * Fields of the list form (docs/wallet-service-api.md, section 2.4); `detailFields` adds those of the detail form
 * (2.3).
 */
const listFields: FieldTable<Omit<TransactionRecord, 'extra'>> = {
  orderNo: { from: 'orderNo', read: readKey, isKey: true },
  requestId: { from: 'requestId', read: readIdentity },
  symbol: { from: 'symbol', read: readIdentity },
  txHash: { from: 'txHash', read: readIdentity },
  fromAddress: { from: 'fromAddress', read: readIdentity },
  toAddress: { from: 'toAddress', read: readIdentity },
  amount: { from: 'amount', read: readAmount },
  type: { from: 'type', read: readText },
  state: { from: 'state', read: readText },
  occurredAt: { from: 'time', read: readTime },
};

const detailFields: FieldTable<Omit<TransactionDetailRecord, 'extra'>> = {
  ...listFields,
  confirmNum: { from: 'confirmNum', read: readCount },
  fee: { from: 'fee', read: readOptionalDecimal },
  feeSymbol: { from: 'feeSymbol', read: readIdentity },
};

// Includes the detail's names for list rows too, because the detail brings their values.
const documentedNames = new Set(Object.values(detailFields).map(({ from }) => from));

const decodeListRow = withRest(rowDecoder('transaction-list', listFields));
const decodeDetailRow = withRest(rowDecoder('transaction-detail', detailFields));

/**
 * Decodes rows of the transaction list; `now` is in Unix milliseconds. Of rows with one order number the last one
 * counts; one that names another coin, amount or type yields a reject.
 */
export function decodeTransactions(
  rows: readonly unknown[],
  now: number,
): Decoded<TransactionRecord> {
  const seen = new Map<string, { row: unknown; record: TransactionRecord }>();
  const decode: RowDecoder<TransactionRecord> = (row, at, rejects) => {
    const record = decodeListRow(row, at, rejects);
    if (record === null) return null;
    const before = seen.get(record.orderNo);
    if (before && isContradicted(before.record, record)) rejects.push(contradicted(before));
    seen.set(record.orderNo, { row, record });
    return record;
  };
  return decodeRows(rows, decode, now);
}

/** Other fields, like the state, may change while the service puts its answer together. */
function isContradicted(before: TransactionRecord, { symbol, amount, type }: TransactionRecord) {
  return before.symbol !== symbol || before.amount !== amount || before.type !== type;
}

function contradicted({ row, record }: { row: unknown; record: TransactionRecord }): Reject {
  return {
    source: 'transaction-list',
    orderNo: record.orderNo,
    field: null,
    reason: 'a later row of the same answer has this order number and another coin, amount or type',
    payload: payloadText(row),
  };
}

/** Decodes detail forms of transactions; `now` is in Unix milliseconds. */
export function decodeTransactionDetails(
  rows: readonly unknown[],
  now: number,
): Decoded<TransactionDetailRecord> {
  return decodeRows(rows, decodeDetailRow, now);
}

type Rest = { extra: string | null };

/** Adds the undocumented fields. */
function withRest<R extends object>(decode: RowDecoder<R>): RowDecoder<R & Rest> {
  return (row, now, rejects) => {
    const record = decode(row, now, rejects);
    if (record === null) return null;
    const extended = record as R & Rest;
    extended.extra = extraText(undocumentedFields(row as RawRow));
    return extended;
  };
}

function undocumentedFields(row: RawRow): RawRow | null {
  const others: string[] = [];
  // Not Object.keys, whose list would be garbage for each row.
  for (const name in row) {
    if (!documentedNames.has(name) && Object.hasOwn(row, name)) others.push(name);
  }
  if (others.length === 0) return null;
  // More names do not fit into the stored text; building an object of 120,000 blocks the event loop.
  const fitting = others.slice(0, limits.extraBytes.max);
  // Avoids assignment, because a field may be named __proto__.
  return Object.fromEntries(fitting.map((name) => [name, row[name]]));
}
