import type { Oddity, TransactionRow } from './transaction-row.ts';

const oddities: Oddity[] = [
  { kind: 'missing amount', field: 'amount', sent: null, stored: null },
  { kind: 'NaN', field: 'amount', sent: '"NaN"', stored: null },
  { kind: 'Infinity', field: 'amount', sent: '"-Infinity"', stored: null },
  { kind: 'blank amount', field: 'amount', sent: '"  "', stored: null },
  { kind: 'immense amount', field: 'amount', sent: '1e999999999', stored: null },
  { kind: 'amount with a unit', field: 'amount', sent: '"1,000.00 BTC"', stored: null },
  { kind: 'amount is an object', field: 'amount', sent: '{"value":"1"}', stored: null },
  { kind: 'NUL', field: 'symbol', sent: '"B\\u0000TC"', stored: null },
  { kind: 'lone surrogate', field: 'txHash', sent: '"0xab\\ud800cd"', stored: null },
  { kind: 'text is a list', field: 'fromAddress', sent: '["x"]', stored: null },
  { kind: 'text without end', field: 'toAddress', sent: `"${'x'.repeat(5_000)}"`, stored: null },
  { kind: 'text is a boolean', field: 'requestId', sent: 'true', stored: null },
  { kind: 'time in words', field: 'time', sent: '"yesterday"', stored: null },
  { kind: 'time before the coins', field: 'time', sent: '-1', stored: null },
  { kind: 'confirmations in words', field: 'confirmNum', sent: '"many"', stored: null },
  { kind: 'negative confirmations', field: 'confirmNum', sent: '"-3"', stored: null },
  { kind: 'fee is a boolean', field: 'fee', sent: 'false', stored: null },
];

/** Makes the row permanently odd, with the kind of oddity for `serial`, in rotation. */
export function makeOdd(row: TransactionRow, serial: number): void {
  row.odd = oddities[serial % oddities.length] ?? null;
}
