import type { BalanceRecord, TransactionRecord } from '../kernel/wallet-records.ts';
import { type Finding, okFinding, warningFinding } from './finding.ts';

type Value = { text: string; decimals: number };

/**
 * Judges the unit of the amounts. A fraction proves coins. Whole numbers with at least as many digits as the coin has
 * decimals indicate smallest units.
 */
export function checkAmounts(
  balances: readonly BalanceRecord[],
  transactions: readonly TransactionRecord[],
): Finding {
  const name = 'amounts';
  const values = valuesOf(balances, transactions);
  const fractions = values.filter(({ text }) => /\.\d*[1-9]/.test(text)).length;
  const long = values.filter(
    ({ text, decimals }) => digitsOf(text) >= Math.max(6, decimals),
  ).length;
  if (fractions > 0) {
    const seen = `decimal coin units: ${fractions} of ${values.length} values have a fraction`;
    return okFinding(name, seen);
  }
  if (long > values.length / 2) {
    const seen = `smallest units: ${long} of ${values.length} values are whole numbers with at least as many digits as the coin has decimals`;
    return warningFinding(
      name,
      seen,
      'the ledger stores them unchanged: divide by 10^decimals when you read them',
    );
  }
  const cure = "ask the service for the unit, or compare a known transaction with its chain's";
  return warningFinding(name, `${values.length} values do not show the unit`, cure);
}

function digitsOf(text: string): number {
  return text.replace(/^-/, '').replace(/\..*/, '').length;
}

/**
 * Pairs values with their coin's decimals. A symbol can stand for coins of several chains; it is skipped if their
 * decimals differ.
 */
function valuesOf(
  balances: readonly BalanceRecord[],
  transactions: readonly TransactionRecord[],
): Value[] {
  const decimalsOf = new Map<string, number | null>();
  for (const { symbol, decimals } of balances) {
    const known = decimalsOf.get(symbol);
    decimalsOf.set(symbol, known === undefined || known === decimals ? decimals : null);
  }
  const pairs = [
    ...balances.map(({ balance, decimals }) => ({ text: balance, decimals })),
    ...transactions.map(({ amount, symbol }) => ({
      text: amount,
      decimals: decimalsOf.get(symbol ?? '') ?? null,
    })),
  ];
  return pairs.flatMap(({ text, decimals }) =>
    text !== null && decimals !== null && decimals > 0 && /[1-9]/.test(text)
      ? { text, decimals }
      : [],
  );
}
