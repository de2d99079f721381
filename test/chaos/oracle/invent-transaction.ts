import { hexText, type SeededRandom } from '../../support/seeded-random.ts';
import { inventPlainAmount, inventPlainFee, isPlainSymbol, plainSymbol } from './plain-coin.ts';
import type { Stream, TransactionRow } from './transaction-row.ts';

export type CoinName = { symbol: string; slip44: number };

/** The sequences of states of an order, and whether the last one is a success. */
const ways: Record<Stream, string[][]> = {
  deposit: [
    ['pending', 'Confirming', 'Confirming', 'Success'],
    ['Confirming', 'success'],
    ['PENDING', 'Confirming', 'COMPLETED'],
    ['pending', 'Confirming', 'failed'],
  ],
  withdraw: [
    ['Submitted', 'Broadcasting', 'Confirming', 'Confirming', 'done'],
    ['submitted', 'Pending approval', 'Rejected'],
    ['Submitted', 'Broadcasting', 'Confirming', 'SUCCESS'],
    ['Submitted', 'cancelled'],
    ['Submitted', 'Broadcasting', 'dropped'],
  ],
};

/** Names that are difficult in a URL, in SQL, in a sort order, in an array literal, or in JSON. */
const oddNames = [
  'a b',
  'q&x=1',
  '100%',
  'a+b',
  'é́',
  'Ω漢字',
  '🦊',
  `o'brien`,
  '"q"',
  'back\\slash',
  '{a,b}',
  'NULL',
  '../x',
  '?#',
  '-- ',
  ';',
  '\t',
  'null',
  '__proto__',
  'aB',
  'Ab',
  '<b>',
  '%00',
  '\u200b',
  '0',
];

const digits = '0123456789';

export function inventTransaction(
  random: SeededRandom,
  serial: number,
  timeMs: number,
  coin: CoinName,
  knownAddress: string | null,
  isFinal: boolean,
): TransactionRow {
  const stream: Stream = random.chance(0.6) ? 'deposit' : 'withdraw';
  const [state = '', ...plan] = random.pick(ways[stream]);
  const row: TransactionRow = {
    orderNo: inventOrderNo(random, serial, stream),
    stream,
    requestId:
      stream === 'withdraw' && random.chance(0.8) ? `r-${serial}-${hexText(random, 8)}` : '',
    symbol: coin.symbol,
    fromAddress: random.chance(0.1) ? '' : inventAddress(random, coin.slip44),
    toAddress: (stream === 'deposit' ? knownAddress : null) ?? inventAddress(random, coin.slip44),
    txHash: stream === 'deposit' ? inventHash(random) : '',
    timeMs,
    enteredAt: 0,
    ...(isPlain(coin) ? text(inventPlainAmount(random)) : inventAmount(random)),
    extra: inventExtra(random),
    state,
    confirmNum: '0',
    fee: '',
    feeSymbol: '',
    plan,
    odd: null,
    versions: null,
  };
  if (isFinal) finish(row, random);
  return row;
}

/** One step to the next state; the last step sets the fee. */
export function stepOn(row: TransactionRow, random: SeededRandom): void {
  const next = row.plan.shift() ?? row.state;
  const confirms = Number(row.confirmNum);
  // A reorganised chain lowers the confirmations.
  const isReorganised = next === row.state && confirms > 3 && random.chance(0.05);
  row.confirmNum = String(isReorganised ? confirms - 3 : confirms + 1 + random.below(12));
  row.state = next;
  if (row.txHash === '' && (row.plan.length === 0 || random.chance(0.7)))
    row.txHash = inventHash(random);
  if (row.plan.length > 0) {
    // Some orders stay in one state while confirmations rise.
    if (next === 'Confirming' && random.chance(0.3)) row.plan.unshift(next);
    return;
  }
  row.fee = inventFee(random, row);
  row.feeSymbol = random.chance(0.8) ? row.symbol : isPlain(row) ? plainSymbol : 'ETH';
}

/** Moves to the final state in one step. */
export function finish(row: TransactionRow, random: SeededRandom): void {
  row.plan = row.plan.slice(-1);
  stepOn(row, random);
}

/** Changes a final row, in a field that the list shows. */
export function amendRow(row: TransactionRow, random: SeededRandom): void {
  const kind = random.below(4);
  if (kind === 0) row.txHash = inventHash(random);
  if (kind === 1)
    row.amount = isPlain(row)
      ? inventPlainAmount(random)
      : `${random.below(1e6)}.${random.text(digits, 9)}7`;
  if (kind === 2) row.toAddress = `moved-${hexText(random, 32)}`;
  if (kind === 3) row.state = row.state === 'reverted' ? 'refunded' : 'reverted';
  if (random.chance(0.3)) row.fee = inventFee(random, row);
}

export function inventAddress(random: SeededRandom, slip44: number): string {
  if (slip44 === 60) return `0x${random.text('0123456789abcdefABCDEF', 40)}`;
  if (slip44 === 0) return `bc1q${random.text('023456789acdefghjklmnpqrstuvwxyz', 38)}`;
  if (slip44 === 195)
    return `T${random.text('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 33)}`;
  return `c${slip44}:${hexText(random, 40)}?memo=${random.text(digits, 6)}`;
}

function inventHash(random: SeededRandom): string {
  return random.chance(0.5) ? `0x${hexText(random, 64)}` : hexText(random, 64);
}

function inventOrderNo(random: SeededRandom, serial: number, stream: Stream): string {
  const kind = random.below(100);
  if (kind < 4) return `${random.pick(oddNames)}${serial}`;
  if (kind < 6)
    return `${serial}-${random.text('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ', 240)}`;
  if (kind < 10) return String(10_000_000_000 + serial);
  return `${stream === 'deposit' ? 'D' : 'W'}${hexText(random, 16)}${serial}`;
}

function inventAmount(random: SeededRandom): { amount: string; isAmountNumber: boolean } {
  const kind = random.below(20);
  const whole = String(1 + random.below(99_999));
  if (kind === 0) return text(`${whole}e-${1 + random.below(12)}`);
  if (kind === 1) return text(`${whole}.5E+${random.below(9)}`);
  if (kind === 2)
    return text(`${1 + random.below(9)}${random.text(digits, 11)}.${random.text(digits, 18)}`);
  if (kind === 3) return text(`${whole}.${random.text(digits, 3)}000`);
  if (kind === 4) return text('0');
  if (kind === 5) return { amount: `${whole}.${random.text(digits, 20)}`, isAmountNumber: true };
  if (kind === 6) return { amount: `${whole}${random.text(digits, 18)}`, isAmountNumber: true };
  if (kind === 7) return text(`-${whole}.25`);
  return text(`${whole}.${random.text(digits, 1 + random.below(8))}`);
}

function isPlain({ symbol }: { symbol: string }): boolean {
  return isPlainSymbol(symbol);
}

function text(amount: string) {
  return { amount, isAmountNumber: false };
}

function inventFee(random: SeededRandom, row: { symbol: string }): string {
  if (isPlain(row)) return inventPlainFee(random);
  return random.pick([
    '0',
    '1e-5',
    `0.${random.text(digits, 8)}`,
    `0.${random.text(digits, 18)}`,
    '0.00100',
  ]);
}

function inventExtra(random: SeededRandom): string {
  if (random.chance(0.85)) return '';
  return random.pick([
    `"memo":"${random.text(digits, 6)}"`,
    `"risk":{"score":${random.below(100)}.50,"tags":["a","b"]}`,
    '"note":null',
    `"blockHeight":${random.text('123456789', 19)}`,
    '"memo":"","__proto__":"x"',
  ]);
}
