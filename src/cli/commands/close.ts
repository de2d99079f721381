import { createHash } from 'node:crypto';
import { writeCsv } from '../../export/write-csv.ts';
import type { Books } from '../../ledger/reports/books.ts';
import type { MonthDays } from '../../ledger/reports/books-sql.ts';
import { type Closing, closeMonth } from '../../ledger/reports/closing/close-month.ts';
import {
  type ClosedMonth,
  listClosedMonths,
} from '../../ledger/reports/closing/list-closed-months.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { counted } from '../../status/status-words.ts';
import type { CommandContext } from '../context/command-context.ts';
import { refuseOtherWallet, sayOtherWallet } from '../context/compare-wallet.ts';
import { openExistingLedger } from '../context/open-existing-ledger.ts';
import { jsonDocument } from '../output/json-document.ts';

/** Runs `wallet-ledger close`. Resolves to 3 and changes nothing if the month is not proven complete. */
export async function close(
  context: CommandContext,
  month: string,
  options: { json?: boolean },
): Promise<number> {
  const { ledger } = await openExistingLedger(context);
  await refuseOtherWallet(context, ledger);
  const { signal } = context.shutdown;
  const closing = await closeMonth(ledger, daysOf(month), { digestOf, signal });
  process.stdout.write(
    options.json ? jsonDocument({ month, ...closing }) : closingWords(month, closing),
  );
  return closing.outcome === 'refused' ? 3 : 0;
}

/** Runs `wallet-ledger close list`. Resolves to 3 if the kept books of a month differ from those that were closed. */
export async function closeList(
  context: CommandContext,
  options: { json?: boolean },
): Promise<number> {
  const { ledger } = await openExistingLedger(context);
  await sayOtherWallet(context, ledger);
  const { signal } = context.shutdown;
  const months = await listClosedMonths(ledger, { digestOf, signal });
  process.stdout.write(options.json ? jsonDocument({ months }) : monthsWords(months));
  return months.every(({ isIntact }) => isIntact) ? 0 : 3;
}

/** Digest of the books as CSV, as stored in `closed_months.digest`. */
async function digestOf(books: Books): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of writeCsv(books, () => undefined)) hash.update(piece);
  return hash.digest('hex');
}

function daysOf(month: string): MonthDays {
  const last = new Date(`${month}-01T00:00:00Z`);
  last.setUTCMonth(last.getUTCMonth() + 1, 0);
  return { from: `${month}-01`, to: last.toISOString().slice(0, 10) };
}

function closingWords(month: string, closing: Closing): string {
  if (closing.outcome === 'refused') {
    const reasons = closing.reasons.map((reason) => `  ${printableText(reason)}\n`);
    return `${month} cannot be closed:\n${reasons.join('')}`;
  }
  const { outcome, closedAt, transactions, digest, differingBalances, coinsWithoutOpening } =
    closing;
  const isNew = outcome === 'closed';
  const head = isNew ? `${month} is closed` : `${month} was already closed at ${closedAt}`;
  return `${head}\n  ${counted(transactions, 'transaction', 'transactions')}, SHA-256 of the CSV export ${digest}\n${differingWords(differingBalances)}${withoutOpeningWords(coinsWithoutOpening)}${isNew ? '' : lateWords(closing)}`;
}

/** Counts the balances that the month's transactions, which are proven complete, leave unexplained. */
function differingWords(count: number): string {
  if (count === 0) return '';
  const differ = counted(count, 'reported balance differs', 'reported balances differ');
  const are = count === 1 ? 'is' : 'are';
  return `  ${differ} from the transactions and ${are} not asserted; see the view ledger.reconciliation\n`;
}

/** Names the coins whose difference between balance and transactions is not in the books as an opening. */
function withoutOpeningWords(symbols: string[]): string {
  return symbols
    .map(
      (symbol) =>
        `  its balance of ${printableText(symbol)} differs from the transactions, and those that were open, unreadable or not listed at each reading may be why: it has no opening yet\n`,
    )
    .join('');
}

function monthsWords(months: ClosedMonth[]): string {
  return months.length === 0 ? 'no month is closed\n' : months.map(monthWords).join('');
}

/** Counts the late entries that change no amount, such as another name of a state. */
function withoutAmountWords(late: ClosedMonth['late']): string {
  const count = late.reduce((sum, { withoutAmount }) => sum + withoutAmount, 0);
  return count === 0 ? '' : `, ${count} of which ${count === 1 ? 'changes' : 'change'} no amount`;
}

function monthWords(month: ClosedMonth): string {
  const { isIntact, differingBalances, coinsWithoutOpening, negativeOpenings } = month;
  return [
    `${month.month}  closed ${month.closedAt}  ${counted(month.transactions, 'transaction', 'transactions')}  ${month.digest}\n`,
    ...(isIntact
      ? []
      : ['  THE KEPT BOOKS ARE NOT THOSE THAT WERE CLOSED: their digest differs\n']),
    differingWords(differingBalances),
    withoutOpeningWords(coinsWithoutOpening),
    ...negativeOpenings.map(
      (symbol) =>
        `  its opening of ${printableText(symbol)} is below zero: an earlier version booked a difference as one\n`,
    ),
    lateWords(month),
  ].join('');
}

/** Counts the late entries of a closed month, and sums them per coin. */
function lateWords({ lateEntries, late }: Pick<ClosedMonth, 'lateEntries' | 'late'>): string {
  if (lateEntries === 0) return '  nothing came or changed afterwards\n';
  const sums = late.map(({ symbol, amount, orders }) => {
    const change = amount === null ? 'by an unknown amount' : `by ${amount}`;
    const coin = symbol === null ? 'an unnamed coin' : printableText(symbol);
    return `    ${coin}  changes custody ${change}, in ${counted(orders, 'transaction', 'transactions')}\n`;
  });
  return `  ${counted(lateEntries, 'late entry', 'late entries')}${withoutAmountWords(late)}, see the table ledger.late_entries\n${sums.join('')}`;
}
