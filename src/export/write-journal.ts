import { countOf } from '../kernel/count-words.ts';
import {
  type Books,
  type CorrectionRow,
  type DayEndRow,
  type DoubtRow,
  openingAccount,
} from '../ledger/reports/books.ts';
import { groupRows } from './group-rows.ts';
import { dayOf, type JournalFormat } from './journal-format.ts';

/** Numbers of transactions, of asserted balances, and of reported balances that the transactions contradict. */
export type JournalCounts = { transactions: number; asserted: number; contradicted: number };

/** Writes the books as a journal, in pieces; `counts` is complete after the last one. */
export async function* writeJournal(
  books: Books,
  format: JournalFormat,
  counts: JournalCounts,
): AsyncGenerator<string> {
  yield format.head(headLines(books));
  const since = books.period.from ?? books.firstDay;
  if (since === null) return;
  for await (const coins of books.coins()) yield coins.map(format.coin).join('');
  const openings = await books.openings();
  if (openings.size > 0) yield format.account(openingAccount, since);
  for await (const names of books.accounts())
    yield names.map((name) => format.account(name, since)).join('');
  yield* writeOpenings(books, format, since, openings);
  const ends = correctionWriter(books, format, dayEndWriter(books, format, counts));
  let today = '';
  for await (const orders of groupRows(books.postings(), ({ orderNo }) => orderNo)) {
    const parts: string[] = [];
    for (const order of orders) {
      const day = dayOf(order[0]?.bookedAt ?? '');
      if (day !== today) parts.push(await ends(day));
      today = day;
      parts.push(format.transaction(order));
    }
    counts.transactions += orders.length;
    yield parts.join('');
  }
  yield await ends(null);
}

function headLines({ period: { from, to }, unposted }: Books): string[] {
  const days = `${from ?? 'the beginning'} to ${to ?? 'the end'}`;
  const values = countOf(unposted, 'value is', 'values are');
  const missing = `INCOMPLETE: ${values} not known yet; see the view ledger.unposted_values.`;
  return [
    `Books of wallet-ledger from ${days}; days are UTC.`,
    ...(unposted === 0 ? [] : [missing]),
  ];
}

function doubtLine({ symbol, reported, booked }: DoubtRow): string {
  const rows = 'transactions that were open or unreadable or not listed at each reading';
  return `${symbol} has no opening yet: ${rows} may be why ${reported} is reported and ${booked} is booked`;
}

/**
 * Writes the balances at the start of the period: openings from before the history, and the accounts carried forward.
 */
async function* writeOpenings(
  books: Books,
  format: JournalFormat,
  day: string,
  openings: ReadonlyMap<string, string>,
): AsyncGenerator<string> {
  for (const doubt of await books.doubts()) yield format.remark(doubtLine(doubt));
  for (const [symbol, amount] of openings) {
    const custody = { symbol, account: books.custodyOn(day), amount };
    const other = { symbol, account: openingAccount, amount: negated(amount) };
    const remark = 'opening, computed back from the first balance that the wallet reported';
    yield format.heading(day, remark) + format.posting(custody) + format.posting(other);
  }
  let isFirst = true;
  for await (const rows of books.carried()) {
    const heading = isFirst ? format.heading(day, 'carried forward') : '';
    isFirst = false;
    yield heading + rows.map(format.posting).join('');
  }
}

/** Writes what is due before the transactions of a day (null: all that is left). */
type DueWriter = (before: string | null) => Promise<string>;

/** Returns a function that also writes the corrections up to that day, each after the day ends before it. */
function correctionWriter(books: Books, format: JournalFormat, ends: DueWriter): DueWriter {
  const remark = 'came or changed after the month before was closed';
  const months = correctionsOf(books);
  let next = months.next();
  return async (before) => {
    const parts: string[] = [];
    for (;;) {
      const { done, value } = await next;
      const day = value?.[0]?.day ?? '';
      if (done || (before !== null && day > before)) return parts.join('') + (await ends(before));
      parts.push(await ends(day), format.heading(day, remark), ...value.map(format.posting));
      next = months.next();
    }
  };
}

async function* correctionsOf(books: Books): AsyncGenerator<CorrectionRow[]> {
  for await (const months of groupRows(books.corrections(), ({ day }) => day)) yield* months;
}

/** Returns a function that writes the day ends before a day, or all that are left. */
function dayEndWriter(books: Books, format: JournalFormat, counts: JournalCounts): DueWriter {
  const days = daysOf(books);
  let next = days.next();
  return async (before) => {
    const parts: string[] = [];
    for (;;) {
      const { done, value } = await next;
      if (done || (before !== null && (value[0]?.day ?? '') >= before)) return parts.join('');
      parts.push(writeDayEnd(value, books, format, counts));
      next = days.next();
    }
  };
}

async function* daysOf(books: Books): AsyncGenerator<DayEndRow[]> {
  for await (const days of groupRows(books.dayEnds(), ({ day }) => day)) yield* days;
}

function writeDayEnd(
  rows: DayEndRow[],
  books: Books,
  format: JournalFormat,
  counts: JournalCounts,
): string {
  const agreeing = rows.filter(({ agrees }) => agrees);
  const others = rows.filter(({ agrees }) => !agrees);
  counts.asserted += agreeing.length;
  counts.contradicted += others.length;
  // Without a comma, which hledger reads as the end of a tag.
  const remarks = others.map(({ day, symbol, reported, booked }) =>
    format.remark(`${day} not asserted: ${symbol} reported ${reported} and booked ${booked}`),
  );
  const day = rows[0]?.day ?? '';
  return (
    (agreeing.length > 0 ? format.dayEnd(day, books.custodyOn(day), agreeing) : '') +
    remarks.join('')
  );
}

function negated(amount: string): string {
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`;
}
