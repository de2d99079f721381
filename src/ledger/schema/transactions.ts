import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  numeric,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core';
import { instant, ledger, wallet } from './ledger-schema.ts';
import { engine } from './snapshots.ts';

export const transactions = ledger.table(
  'transactions',
  {
    wallet: wallet(),
    orderNo: text('order_no').notNull(),
    stream: text('stream').notNull(),
    requestId: text('request_id'),
    symbol: text('symbol'),
    txHash: text('tx_hash'),
    fromAddress: text('from_address'),
    toAddress: text('to_address'),
    amount: numeric('amount'),
    type: text('type'),
    state: text('state'),
    confirmNum: integer('confirm_num'),
    fee: numeric('fee'),
    feeSymbol: text('fee_symbol'),
    occurredAt: instant('occurred_at'),
    isFinal: boolean('is_final').notNull().default(false),
    isSuccess: boolean('is_success').notNull().default(false),
    isListed: boolean('is_listed').notNull().default(true),
    alsoListedIn: text('also_listed_in'),
    isBackfilled: boolean('is_backfilled').notNull().default(false),
    firstDetailAt: instant('first_detail_at'),
    detailSyncedAt: instant('detail_synced_at'),
    firstSeenAt: instant('first_seen_at').notNull().defaultNow(),
    changedAt: instant('changed_at').notNull().defaultNow(),
    observedAt: instant('observed_at').notNull().defaultNow(),
    observation: bigint('observation', { mode: 'number' }).notNull().default(0),
    extra: jsonb('extra'),
    seal: uuid('seal'),
    listWord: jsonb('list_word'),
    detailWord: jsonb('detail_word'),
    firstDetailFilled: text('first_detail_filled').array(),
    slip44: integer('slip44'),
    contractAddress: text('contract_address'),
    otherListType: text('other_list_type'),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.orderNo] }),
    // Hash indexes cost a new row half as much as sorted ones, and no query sorts by these columns. There is none for
    // `from_address`: senders are searched too seldom for its cost.
    index('transactions_tx_hash').using('hash', table.txHash),
    index('transactions_request_id').using('hash', table.requestId),
    index('transactions_withdrawal_address')
      .using('hash', sql`ledger.address_key(${table.toAddress})`)
      .where(sql`${table.stream} <> 'deposit'`),
    // BRIN indexes find the rows that came or changed lately, and cost a new row almost nothing. Their ranges are
    // short, because a new row may fill a gap in an old page, and then its whole range is read.
    index('transactions_first_seen_at')
      .using('brin', table.firstSeenAt)
      .with({ autosummarize: true, pages_per_range: 32 }),
    index('transactions_changed_at')
      .using('brin', table.changedAt)
      .with({ autosummarize: true, pages_per_range: 32 }),
    // Begins with the list: while the table has no statistics, one that began with the wallet would look as good as the
    // primary key for a row by its order number, and a plan made then would read the whole index for each row.
    index('transactions_stream_occurred_at').on(table.stream, table.wallet, table.occurredAt),
    // Serves windows of days. The index is a few kilobytes for any history, because rows lie roughly in the order of
    // time.
    index('transactions_day')
      .using('brin', sql`((${table.occurredAt} at time zone 'UTC')::date)`)
      .with({ autosummarize: true }),
    index('transactions_open').on(table.wallet, table.occurredAt).where(sql`not ${table.isFinal}`),
    index('transactions_unlisted')
      .on(table.wallet, table.stream, table.occurredAt)
      .where(sql`not ${table.isListed}`),
    index('transactions_unlisted_changed_at')
      .on(table.wallet, table.stream, table.changedAt)
      .where(sql`not ${table.isListed}`),
    index('transactions_undated')
      .on(table.wallet, table.stream)
      .where(sql`${table.occurredAt} is null`),
    index('transactions_listed_at')
      .on(table.wallet, table.stream)
      .where(sql`${table.listWord} ? 'occurred_at'`),
    index('transactions_in_two_lists')
      .on(table.alsoListedIn)
      .where(sql`${table.alsoListedIn} is not null`),
    // Rows of the history that wait for their first detail (`isOfHistory`).
    index('transactions_without_detail')
      .on(table.wallet, table.occurredAt)
      .where(
        sql`${table.isFinal} and ${table.isBackfilled} and ${table.isListed} and ${table.detailSyncedAt} is null`,
      ),
    // Rows whose chain is not known, for `assignChains`. New rows go to the end of the index, which costs less than a
    // place by order number.
    index('transactions_without_chain')
      .on(table.wallet, table.firstSeenAt)
      .where(sql`${table.slip44} is null`),
    index('transactions_deposit_address')
      .on(sql`ledger.address_key(${table.toAddress})`, table.wallet)
      .where(sql`${table.stream} = 'deposit'`),
  ],
);

export const transactionChanges = ledger.table(
  'transaction_changes',
  {
    wallet: wallet(),
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    orderNo: text('order_no').notNull(),
    observedAt: instant('observed_at').notNull(),
    field: text('field').notNull(),
    oldValue: text('old_value'),
    newValue: text('new_value'),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.id] }),
    index('transaction_changes_order_no').on(table.orderNo, table.wallet),
    index('transaction_changes_observed_at').on(table.observedAt),
  ],
);

/**
 * Numbers of logged changes of states. Transactions that commit at the same time count in rows of their own
 * (`counter`), so that none waits for another. `key` is a hash of the three texts, as in `daily_sums`.
 */
export const transitionCounts = engine.table(
  'transition_counts',
  {
    wallet: wallet(),
    counter: integer('counter').notNull(),
    key: uuid('key').notNull(),
    type: text('type'),
    fromState: text('from_state'),
    toState: text('to_state'),
    transactions: bigint('transactions', { mode: 'number' }).notNull(),
    firstSeenAt: instant('first_seen_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.counter, table.key] })],
);

/**
 * Final states of each time, for `transactions_at`: a state is one from `validFrom` until `validTo`, null for today's.
 */
export const finalStatePeriods = ledger.table(
  'final_state_periods',
  {
    wallet: wallet(),
    state: text('state').notNull(),
    validFrom: instant('valid_from').notNull(),
    validTo: instant('valid_to'),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.state, table.validFrom] })],
);

/** States of WALLET_FINAL_STATES and WALLET_SUCCESS_STATES by which the rows were last classified. */
export const finalStates = ledger.table(
  'final_states',
  { wallet: wallet(), state: text('state').notNull(), isSuccess: boolean('is_success').notNull() },
  (table) => [primaryKey({ columns: [table.wallet, table.state] })],
);

/** A classification of all rows that is under way; no row when there is none. `id` is always 1. */
export const classification = engine.table(
  'classification',
  {
    wallet: wallet(),
    id: integer('id').notNull(),
    /** Rows up to this order number are classified. */
    afterOrderNo: text('after_order_no').notNull(),
    /** States of which deposits count now and did not before, or the other way round. */
    turnedStates: text('turned_states').array().notNull().default([]),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.id] })],
);
