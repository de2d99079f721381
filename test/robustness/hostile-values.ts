/** Kind of bad row: the fields that are replaced, and the expected result in the ledger. */
export type HostileKind = {
  /** JSON texts of fields; null: the field is missing. */
  fields: Record<string, string | null>;
  /** Columns of `ledger.transactions` that differ from those of a good row. */
  stored?: Record<string, string | null>;
  /** Fields that must be in `rejects`. */
  rejected?: string[];
};

const text = (value: string) => JSON.stringify(value);
const escapedNul = '\\u0000';
const escapedHalf = '\\ud83d';

const unreadableAmounts = [
  ...['""', '" "', 'null', null].map((amount) => ({ amount })),
  ...['"NaN"', '"Infinity"', '"-Infinity"', '{}', 'true', '[1]'].map((amount) => ({ amount })),
  ...['0x1F', '1_000', '1,5', '+5', ' 5 ', '٣', '.5', '5.', '1e'].map((amount) => ({
    amount: text(amount),
  })),
  { amount: '"1e-16384"' },
  { amount: '"1e131072"' },
];

const exactAmounts: Array<[json: string, stored: string]> = [
  ['"1e-18"', `0.${'0'.repeat(17)}1`],
  ['"1E40"', `1${'0'.repeat(40)}`],
  ['"-5.250"', '-5.250'],
  ['0.1', '0.1'],
  ['12345678901234567890', '12345678901234567890'],
  ['0.12345678901234567890123', '0.12345678901234567890123'],
  [`"${'9'.repeat(500)}.5"`, `${'9'.repeat(500)}.5`],
];

const impossibleTimes = [
  ...['0', '-1', '1718587017', '8640000000000001', '1e18', '9007199254740993', '1.5'],
  ...['"soon"', 'null', null, 'true', '""', '"2024-01-01T00:00:00Z"'],
];

/** V1 to V7: numbers and times. */
const numberKinds: HostileKind[] = [
  ...unreadableAmounts.map((fields) => ({
    fields,
    stored: { amount: null },
    rejected: ['amount'],
  })),
  ...exactAmounts.map(([amount, stored]) => ({ fields: { amount }, stored: { amount: stored } })),
  ...impossibleTimes.map((time) => ({
    fields: { time },
    stored: { occurred_ms: null },
    rejected: ['time'],
  })),
];

const formulas = ['=1+1', '+1', '-1', '@SUM(A1)', `'; drop table ledger.transactions; --`];
const control = 'ok\u001b[31m\u202e\nline';

/** V8 to V16: texts. */
const textKinds: HostileKind[] = [
  ...[escapedNul, escapedHalf].map((odd) => ({
    fields: { requestId: `"a${odd}b"` },
    stored: { request_id: null },
    rejected: ['requestId'],
  })),
  ...formulas.map((symbol) => ({ fields: { symbol: text(symbol) }, stored: { symbol } })),
  { fields: { state: text(control) }, stored: { state: control } },
  { fields: { state: '"WEIRD"' }, stored: { state: 'WEIRD' } },
  { fields: { state: '{"a":1}' }, stored: { state: null }, rejected: ['state'] },
  { fields: { symbol: 'true' }, stored: { symbol: null }, rejected: ['symbol'] },
  { fields: { symbol: '5' }, stored: { symbol: '5' } },
  // The row's own type in another case: on the other list it would be another row.
  { fields: { type: '"TYPE"' }, stored: { type: 'TYPE' } },
  { fields: { type: '"refund"' }, stored: { type: 'refund' } },
  { fields: { toAddress: '"0xABCDEF"' }, stored: { to_address: '0xABCDEF' } },
  { fields: { toAddress: '"rX?memo= 1"' }, stored: { to_address: 'rX?memo= 1' } },
  {
    fields: { toAddress: text('é'.repeat(1_500)) },
    stored: { to_address: null },
    rejected: ['toAddress'],
  },
  {
    fields: { requestId: null, symbol: null, fromAddress: null, toAddress: null, state: null },
    stored: { request_id: null, symbol: null, to_address: null, state: null },
  },
  {
    fields: { amount: '"NaN"', time: '0', symbol: '[]' },
    stored: { amount: null, occurred_ms: null, symbol: null },
    rejected: ['amount', 'time', 'symbol'],
  },
];

/** V12: undocumented fields. */
const extraKinds: HostileKind[] = [
  { fields: { memo: '{"a":[1,0.10]}' } },
  { fields: { memo: `"${escapedNul}${escapedHalf}"`, ['k\0']: '1' } },
  { fields: { ['__proto__']: '{"polluted":true}', constructor: '"x"' } },
  { fields: { deep: '['.repeat(500) + ']'.repeat(500) } },
  { fields: { long: text('"é'.repeat(10_000)) } },
  { fields: { rate: '1e200000', none: 'null' } },
];

/** V8 to V10: rows without a key that could be stored. */
const keyless: HostileKind[] = [
  ...['""', '" "', 'null', null, 'true', '{}', '[]', '1.5', text('x'.repeat(10_000))],
  `"a${escapedNul}b"`,
  `"a${escapedHalf}"`,
].map((orderNo) => ({ fields: { orderNo }, rejected: ['orderNo'] }));

/** Each kind as often as any other. */
export const hostileKinds: HostileKind[] = [
  ...numberKinds,
  ...textKinds,
  ...extraKinds,
  ...keyless,
];

/** V10: unusual orderNos that are valid keys, byte for byte; `nth` makes them distinct. */
export const oddKeys: Array<(nth: number) => string> = [
  (nth) => `Case-${nth}`,
  (nth) => `case-${nth}`,
  (nth) => `case-${nth} `,
  (nth) => `ﬁ-${nth}`,
  (nth) => `e\u0301-${nth}`,
  (nth) => `é-${nth}`,
  (nth) => `__proto__${nth === 0 ? '' : nth}`,
  (nth) => `'; --${nth}`,
  (nth) => `\u{1F600}${nth}`,
];

/** Rows that are not objects; `nth` makes them distinct. */
export const noRows: Array<(nth: number) => string> = [
  (nth) => String(nth),
  (nth) => `"tx-${nth}"`,
  (nth) => `["tx-${nth}"]`,
  () => 'null',
];
