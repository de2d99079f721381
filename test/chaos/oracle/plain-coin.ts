import type { SeededRandom } from '../../support/seeded-random.ts';
import { isSuccessState } from './final-state.ts';
import type { TransactionRow } from './transaction-row.ts';

/** The coin whose balance is the sum of its transactions; the balances of all others are drawn. */
export const plainSymbol = 'GOLD';

const scale = 18;
const digits = '0123456789';

/** Odd digits, but a size that keeps the balance above zero and one fee far below any amount. */
export function inventPlainAmount(random: SeededRandom): string {
  return `${1_000 + random.below(99_000)}.${random.text(digits, 7)}7`;
}

export function inventPlainFee(random: SeededRandom): string {
  return random.pick(['0', '1e-5', '0.00100', `0.000${random.text(digits, 15)}`]);
}

/** What the row adds to the balance, in units of 10^-18: nothing before it succeeds, or for another coin. */
export function moneyOf(row: TransactionRow): bigint {
  if (row.symbol !== plainSymbol || !isSuccessState(row.state)) return 0n;
  const amount = unitsOf(row.amount);
  const fee = row.feeSymbol === plainSymbol ? unitsOf(row.fee) : 0n;
  return (row.stream === 'deposit' ? amount : -amount) - fee;
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
