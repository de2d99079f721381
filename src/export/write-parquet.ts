import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer';
import type { Books, PostingRow } from '../ledger/reports/books.ts';
import { decimal38, decimalBytes } from './decimal38.ts';

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
const schema: SchemaElement[] = [
  { name: 'postings', num_children: 9 },
  { name: 'order_no', repetition_type: 'REQUIRED', ...text },
  { name: 'posting_no', repetition_type: 'REQUIRED', type: 'INT32' },
  {
    name: 'booked_at',
    repetition_type: 'REQUIRED',
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  { name: 'type', repetition_type: 'REQUIRED', ...text },
  { name: 'account', repetition_type: 'REQUIRED', ...text },
  { name: 'symbol', repetition_type: 'REQUIRED', ...text },
  {
    name: 'amount',
    repetition_type: 'OPTIONAL',
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: 16,
    precision: 38,
    scale: 18,
    logical_type: { type: 'DECIMAL', precision: 38, scale: 18 },
  },
  { name: 'amount_text', repetition_type: 'REQUIRED', ...text },
  { name: 'tx_hash', repetition_type: 'OPTIONAL', ...text },
];

/**
 * The schema as the end of the file has it. The rows are written without the amount's converted_type, because with it
 * the library would encode each amount itself, at a third of the speed.
 */
const footerSchema = schema.map(
  (element): SchemaElement =>
    element.name === 'amount' ? { ...element, converted_type: 'DECIMAL' } : element,
);

/**
 * Rows of a group. Every group but the last is full, so that the bytes depend on the rows alone, not on the batches
 * that they came in.
 */
const groupRows = 20_000;

/** Writes one row per posting as Parquet, in pieces. Calls `count` with the number of postings of each batch. */
export async function* writeParquet(
  books: Books,
  count: (postings: number) => void,
): AsyncGenerator<Uint8Array> {
  const bytes = new ByteWriter(1 << 20);
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'wallet-ledger' });
  // The offset keeps counting, because the file's index needs the position of each group.
  const taken = (): Uint8Array => {
    const chunk = bytes.getBytes().slice();
    bytes.index = 0;
    return chunk;
  };
  let columns = emptyColumns();
  for await (const batch of books.postings()) {
    count(batch.length);
    for (const row of batch) {
      append(columns, row);
      if (columns.amount.length < groupRows) continue;
      await file.write({ columnData: dataOf(columns), rowGroupSize: groupRows });
      columns = emptyColumns();
      yield taken();
    }
  }
  const { length } = columns.amount;
  if (length > 0) await file.write({ columnData: dataOf(columns), rowGroupSize: length });
  file.schema = footerSchema;
  await file.finish();
  yield taken();
}

function emptyColumns() {
  return {
    order_no: [] as string[],
    posting_no: [] as number[],
    booked_at: [] as bigint[],
    type: [] as string[],
    account: [] as string[],
    symbol: [] as string[],
    amount: [] as (Uint8Array | null)[],
    amount_text: [] as string[],
    tx_hash: [] as (string | null)[],
  };
}

type Columns = ReturnType<typeof emptyColumns>;

function append(columns: Columns, row: PostingRow): void {
  columns.order_no.push(row.orderNo);
  columns.posting_no.push(Number(row.postingNo));
  columns.booked_at.push(microseconds(row.bookedAt));
  columns.type.push(row.stream);
  columns.account.push(row.account);
  columns.symbol.push(row.symbol);
  columns.amount.push(bytesOf(row.amount));
  columns.amount_text.push(row.amount);
  columns.tx_hash.push(row.txHash);
}

/** Bytes compare as text, not as numbers: statistics of the amounts would mislead readers. */
function dataOf(columns: Columns): ColumnSource[] {
  return Object.entries(columns).map(([name, data]) => ({
    name,
    data,
    statistics: name !== 'amount',
  }));
}

function bytesOf(amount: string): Uint8Array | null {
  const scaled = decimal38(amount);
  return scaled === null ? null : decimalBytes(scaled);
}

/** Microseconds since 1970 of a time as PostgreSQL writes it: `2026-03-31 22:10:05.123456+00`. */
function microseconds(time: string): bigint {
  const [, seconds = '', fraction = ''] = /^(.{19})(?:\.(\d+))?\+00$/.exec(time) ?? [];
  const ms = Date.parse(`${seconds.replace(' ', 'T')}Z`);
  return BigInt(ms) * 1_000n + BigInt(fraction.padEnd(6, '0') || 0);
}
