import { sql } from 'drizzle-orm';
import { bigint, check, date, index, numeric, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant, ledger, wallet } from './ledger-schema.ts';

/** Chart of accounts: the name of each account of the view `postings`. Users may rename them. */
export const accounts = ledger.table('accounts', {
  role: text('role').primaryKey(),
  name: text('name').notNull(),
});

/** Months whose books are closed, one row for each; `month` is their first day. */
export const closedMonths = ledger.table(
  'closed_months',
  {
    wallet: wallet(),
    month: date('month', { mode: 'string' }).notNull(),
    closedAt: instant('closed_at').notNull(),
    transactions: bigint('transactions', { mode: 'number' }).notNull(),
    digest: text('digest').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.month] }),
    check('closed_months_first_day', sql`extract(day from ${table.month}) = 1`),
  ],
);

/** The books of the closed months as they were exported: one row per line of a part, its values as texts. */
export const closedBooks = ledger.table(
  'closed_books',
  {
    wallet: wallet(),
    month: date('month', { mode: 'string' }).notNull(),
    part: text('part').notNull(),
    no: bigint('no', { mode: 'number' }).notNull(),
    cells: text('cells').array().notNull(),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.month, table.part, table.no] })],
);

/** Rows that came, changed or vanished after their month was closed: one entry per order, coin and statement. */
export const lateEntries = ledger.table(
  'late_entries',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    month: date('month', { mode: 'string' }).notNull(),
    orderNo: text('order_no').notNull(),
    kind: text('kind').notNull(),
    symbol: text('symbol'),
    amountChange: numeric('amount_change'),
    recordedAt: instant('recorded_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.id] }),
    index('late_entries_month').on(table.wallet, table.month),
  ],
);
