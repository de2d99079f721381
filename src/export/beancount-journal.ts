import type { CoinRow } from '../ledger/reports/books.ts';
import {
  beancountAccounts,
  beancountCommodity,
  beancountString,
  remembered,
} from './book-names.ts';
import { dayOf, isoTime, type JournalFormat } from './journal-format.ts';

/** Number of significant digits with which beancount 2 calculates. */
const exactDigits = 28;
const dayMs = 86_400_000;

/** A journal of beancount 2 or later, for the accounts of a chart (role and name of each). */
export function createBeancountJournal(
  chart: Iterable<readonly [role: string, name: string]>,
): JournalFormat {
  const account = remembered(beancountAccounts(chart));
  const commodity = remembered(beancountCommodity);
  const tolerances = new Map<string, string>();
  const posting = (of: { account: string; symbol: string; amount: string }) =>
    `  ${account(of.account)}  ${of.amount} ${commodity(of.symbol)}\n`;
  return {
    head: (lines) =>
      `${lines.map((line) => `; ${line}\n`).join('')}option "inferred_tolerance_multiplier" "0"\n\n`,
    coin(coin) {
      const name = commodity(coin.symbol);
      const meta = `  name: ${beancountString(coin.symbol)}\n`;
      const tolerance = toleranceOf(coin);
      if (tolerance !== null) tolerances.set(coin.symbol, tolerance);
      const option = `; beancount rounds ${name} to ${exactDigits} digits\noption "inferred_tolerance_default" "${name}:${tolerance}"\n`;
      return `${tolerance === null ? '' : option}1970-01-01 commodity ${name}\n${meta}`;
    },
    account: (name, since) => `${since} open ${account(name)}\n  name: ${beancountString(name)}\n`,
    transaction(postings) {
      const [first] = postings;
      if (first === undefined) return '';
      const { orderNo, bookedAt, stream, txHash } = first;
      return [
        `\n${dayOf(bookedAt)} * ${beancountString(stream)}\n`,
        `  order: ${beancountString(orderNo)}\n  time: ${beancountString(isoTime(bookedAt))}\n`,
        ...(txHash === null ? [] : [`  hash: ${beancountString(txHash)}\n`]),
        ...postings.map(posting),
      ].join('');
    },
    heading: (day, remark) => `\n${day} * ${beancountString(remark)}\n`,
    posting,
    // In beancount, the balance of a day is that at its beginning.
    dayEnd(day, custody, balances) {
      const next = new Date(Date.parse(day) + dayMs).toISOString().slice(0, 10);
      const lines = balances.map(({ symbol, reported }) => {
        const tolerance = tolerances.get(symbol) ?? '0';
        return `${next} balance ${account(custody)}  ${reported} ~ ${tolerance} ${commodity(symbol)}\n`;
      });
      return `\n${lines.join('')}`;
    },
    remark: (line) => `; ${line.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')}\n`,
  };
}

/** Tolerance that beancount needs for this coin, as a decimal; null if all its digits fit. */
function toleranceOf({ digits, scale, values }: CoinRow): string | null {
  if (digits + scale <= exactDigits) return null;
  const exponent = digits - exactDigits + String(values * 4).length;
  return exponent >= 0 ? `1${'0'.repeat(exponent)}` : `0.${'0'.repeat(-exponent - 1)}1`;
}
