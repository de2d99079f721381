import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Claim } from '../../src/ledger/transactions/detail-checks.ts';
import type { ListedTransaction } from '../../src/ledger/transactions/store-listed-transactions.ts';
import type { DetailedTransaction } from '../../src/ledger/transactions/store-transaction-details.ts';
import type { TestLedger } from './with-ledger.ts';

/** A list row with only the given values. */
export function listed(given: Partial<ListedTransaction>): ListedTransaction {
  return {
    orderNo: 'order-1',
    requestId: null,
    symbol: null,
    txHash: null,
    fromAddress: null,
    toAddress: null,
    amount: null,
    type: 'deposit',
    state: null,
    occurredAt: null,
    extra: null,
    observation: 1,
    ...given,
  };
}

/** A detail with only the given values. */
export function detailed(given: Partial<DetailedTransaction>): DetailedTransaction {
  return { ...listed({ observation: 2 }), confirmNum: null, fee: null, feeSymbol: null, ...given };
}

/** A claim with a unique id. */
export function newClaim(leaseMs = 60_000): Claim {
  return { id: randomUUID(), leaseMs };
}

/** The row's values as PostgreSQL writes them. */
export type StoredRow = Record<string, string | null>;

const columns = [
  'order_no',
  'stream',
  'request_id',
  'symbol',
  'tx_hash',
  'from_address',
  'to_address',
  'amount',
  'type',
  'state',
  'confirm_num',
  'fee',
  'fee_symbol',
  'extra',
  'observation',
];

/** All stored transactions in key order, each value as text. */
export function readTransactions({ query }: TestLedger): Promise<StoredRow[]> {
  return query<StoredRow>(
    `select ${columns.map((column) => `${column}::text`).join(', ')},
            (extract(epoch from occurred_at) * 1000)::bigint::text as occurred_ms
       from ledger.transactions order by order_no collate "C"`,
  );
}

/** Reads the version and place of each stored row, which change with every write, even of equal values. */
export async function readVersions({ query }: TestLedger): Promise<unknown[]> {
  return await query(
    `select 'row', order_no, ctid::text, xmin::text, xmax::text from ledger.transactions
     union all select 'stream', name, ctid::text, xmin::text, xmax::text from ledger.streams
     union all select 'change', id::text, ctid::text, xmin::text, xmax::text from ledger.transaction_changes
     order by 1, 2`,
  );
}

/** Streams whose count in `streams` is not the number of their listed rows. */
export function readMiscounts({ query }: TestLedger): Promise<unknown[]> {
  return query(
    `select * from (select stream as name, count(*) as counted from ledger.transactions where is_listed group by stream) t
       full join (select * from ledger.streams where name in ('deposit', 'withdraw')) s using (name)
      where coalesce(counted, 0) <> coalesce(ledger_count, 0)`,
  );
}

export type LoggedChange = {
  order_no: string;
  field: string;
  old_value: string | null;
  new_value: string | null;
};

/** The changes in the order in which they were logged. */
export function readChanges({ query }: TestLedger): Promise<LoggedChange[]> {
  return query(
    'select order_no, field, old_value, new_value from ledger.transaction_changes order by id',
  );
}

/** Decimals of the service and the text that PostgreSQL keeps of them; no two are equal by value. */
export const decimals: [given: string, stored: string][] = [
  ['0', '0'],
  ['0.10', '0.10'],
  ['1.500000000000000000', '1.500000000000000000'],
  ['-12345678901234567890.123456789012345678900', '-12345678901234567890.123456789012345678900'],
  ['1e3', '1000'],
  ['2.50E-7', '0.000000250'],
  ['1.25e+1', '12.5'],
  ['00042', '42'],
  ['9'.repeat(100_000), '9'.repeat(100_000)],
  [`0.${'0'.repeat(16_382)}1`, `0.${'0'.repeat(16_382)}1`],
];

/** Text of every kind that PostgreSQL can store. */
export const hostileText = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter((text) => !text.includes('\0')),
  fc.constantFrom(
    `'; drop table ledger.transactions; --`,
    'NULL',
    'null',
    '{"a",b}',
    '{}',
    '"',
    '\\',
    '\\"\\\\',
    '$1',
    ' ',
    '\n\r\t',
    '\u202E',
    '\u{1F600}e\u0301',
    '%s :name ?',
    '=1+1',
    '+1',
    '-1',
    '@SUM(A1)',
  ),
);

/** Cuts `rows` into batches at random places. */
export function cutIntoBatches<T>(rows: T[], cuts: number[]): T[][] {
  const at = [...new Set(cuts.map((cut) => cut % (rows.length + 1)))].sort((a, b) => a - b);
  return [0, ...at]
    .map((from, index) => rows.slice(from, at[index] ?? rows.length))
    .filter((batch) => batch.length > 0);
}
