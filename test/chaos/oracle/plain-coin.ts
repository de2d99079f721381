import type { SeededRandom } from '../../support/seeded-random.ts';
import { isSuccessState } from './final-state.ts';
import type { TransactionRow } from './transaction-row.ts';

/** The coins whose balances are the sums of their transactions; the balances of all others are drawn. */
export const plainSymbols = ['GOLD', 'SILVER', 'copper.Ore', 'T1N'] as const;

/** The one whose books are checked most closely. */
export const plainSymbol = plainSymbols[0];

export function isPlainSymbol(symbol: string): boolean {
  return plainSymbols.some((plain) => plain === symbol);
}

const scale = 18;
const digits = '0123456789';

/** Irregular digits, but a size that keeps the balance above zero and each fee far below any amount. */
export function inventPlainAmount(random: SeededRandom): string {
  return `${1_000 + random.below(99_000)}.${random.text(digits, 7)}7`;
}

export function inventPlainFee(random: SeededRandom): string {
  return random.pick(['0', '1e-5', '0.00100', `0.000${random.text(digits, 15)}`]);
}

/** Units of 10^-18 by plain coin. */
export type Money = ReadonlyMap<string, bigint>;

/** Returns the sums that the row adds to the balances: none before it succeeds, or for another coin. */
export function moneyOf(row: TransactionRow): Money {
  if (!isPlainSymbol(row.symbol) || !isSuccessState(row.state)) return new Map();
  const amount = unitsOf(row.amount);
  const moved = row.stream === 'deposit' ? amount : -amount;
  return plus(new Map([[row.symbol, moved]]), new Map([[row.feeSymbol, -unitsOf(row.fee)]]));
}

export function plus(money: Money, more: Money): Money {
  const sum = new Map(money);
  for (const [symbol, units] of more) sum.set(symbol, (sum.get(symbol) ?? 0n) + units);
  return sum;
}

export function minus(money: Money): Money {
  return new Map([...money].map(([symbol, units]) => [symbol, -units]));
}

export function decimalOf(units: bigint): string {
  const text = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  return `${units < 0n ? '-' : ''}${text.slice(0, -scale)}.${text.slice(-scale)}`;
}

function unitsOf(decimal: string): bigint {
  const [mantissa = '', exponent = '0'] = decimal.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(scale - fraction.length + Number(exponent));
}
