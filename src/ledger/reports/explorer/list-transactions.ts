import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { type TransactionType, transactionTypes } from '../../../kernel/vocabulary.ts';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import {
  orNull,
  out,
  pick,
  query,
  type RowNamedBy,
  text,
  truth,
} from '../../connection/query-rows.ts';
import { transactions } from '../../own-tables.ts';
import { amountText } from '../status-sql.ts';
import { isCoin } from './read-coins.ts';

/** Place of a row in the list. `time` is PostgreSQL's own text; null among the rows without a time, which come last. */
export type Position = { time: string | null; orderNo: string };

/**
 * Rows to list; null stands for any. `from` and `to` are UTC days as `2026-03-01`, both included. Amounts are decimals.
 * `address` is the recipient, in any spelling; `sender` and `state` in any case; `coin` too, unless a coin is spelt
 * exactly so.
 */
export type TransactionFilter = {
  stream: TransactionType | null;
  state: string | null;
  coin: string | null;
  chain: number | null;
  from: string | null;
  to: string | null;
  min: string | null;
  max: string | null;
  address: string | null;
  sender: string | null;
  /** Only rows that are not final. */
  isOpen: boolean;
  /** Rows after this place. */
  before: Position | null;
};

/** A row of the list. `time`, `amount` and the chain `slip44` are null if unknown. */
export type ListedRow = RowNamedBy<typeof columns>;

/**
 * A page of the list. `next` is the place to read on from; null at the end. `isSearchCut`: reading stopped at its bound
 * before the page was full, so rows that match may follow.
 */
export type TransactionPage = { rows: ListedRow[]; next: Position | null; isSearchCut: boolean };

/**
 * Size of a page, and the upper bound of the rows of each stream that it reads to find those that match. So a page
 * costs the same for any history. A rare match needs several pages.
 */
export type PageBounds = { pageRows: number; rowsReadMax: number };

const usualBounds: PageBounds = { pageRows: 50, rowsReadMax: 6_000 };

const t = alias(transactions, 't');
const placeColumns = {
  orderNo: t.orderNo,
  time: [sql`t.occurred_at::text`, orNull(text)],
  micros: [sql`(extract(epoch from t.occurred_at) * 1000000)::bigint::text`, orNull(text)],
} as const;
const columns = pick({
  ...placeColumns,
  stream: t.stream,
  symbol: t.symbol,
  slip44: t.slip44,
  amount: [amountText('t.amount'), orNull(text)],
  type: t.type,
  state: t.state,
  txHash: t.txHash,
  fromAddress: t.fromAddress,
  toAddress: t.toAddress,
  isFinal: t.isFinal,
  isSuccess: t.isSuccess,
  isListed: t.isListed,
});

/** The rows with a time, latest first, or those without one. */
type Segment = 'dated' | 'undated';

const orders: Record<Segment, SQL> = {
  dated: sql`order by t.occurred_at desc, t.order_no collate "C" desc`,
  undated: sql`order by t.order_no collate "C" desc`,
};

/**
 * Reads one page of the list: latest first, rows of one time by order number, rows without a time at the end. Reading
 * on from `next` visits each row once, whatever is inserted meanwhile.
 */
export async function listTransactions(
  db: LedgerDb,
  filter: TransactionFilter,
  bounds = usualBounds,
): Promise<TransactionPage> {
  const { pageRows } = bounds;
  const isExactCoin = filter.coin !== null && (await isCoin(db, filter.coin));
  const reading = { filter, bounds, residual: residualCondition(filter, isExactCoin) };
  const isAmongUndated = filter.before !== null && filter.before.time === null;
  const page = isAmongUndated
    ? { rows: [], stop: null }
    : await readSegment(db, { ...reading, segment: 'dated', wanted: pageRows + 1 });
  const hasPeriod = filter.from !== null || filter.to !== null;
  if (page.rows.length <= pageRows && page.stop === null && !hasPeriod) {
    const wanted = pageRows + 1 - page.rows.length;
    const rest = await readSegment(db, { ...reading, segment: 'undated', wanted });
    page.rows.push(...rest.rows);
    page.stop = rest.stop;
  }
  const rows = page.rows.slice(0, pageRows);
  const last = page.rows.length > pageRows ? rows.at(-1) : undefined;
  return {
    rows,
    next: last ? { time: last.time, orderNo: last.orderNo } : page.stop,
    isSearchCut: last === undefined && page.stop !== null,
  };
}

/** `stop`: the place where reading reached its bound; null if it read as many rows as wanted, or all. */
type SegmentPage = { rows: ListedRow[]; stop: Place | null };
type Place = Pick<ListedRow, keyof typeof placeColumns>;

/** `residual`: conditions that no index serves; null if there are none. */
type Reading = {
  filter: TransactionFilter;
  residual: SQL | null;
  segment: Segment;
  wanted: number;
  bounds: PageBounds;
};

async function readSegment(db: LedgerDb, reading: Reading): Promise<SegmentPage> {
  const { wanted, filter } = reading;
  const rows: ListedRow[] = [];
  let stop: Place | null = null;
  for (const stream of filter.stream === null ? transactionTypes : [filter.stream]) {
    const read = await readStream(db, stream, reading);
    rows.push(...read.rows);
    if (read.stop && (stop === null || comparePlaces(read.stop, stop) < 0)) stop = read.stop;
  }
  rows.sort(comparePlaces);
  // If one stream stopped early, later rows of the other stream belong to the next page.
  const isBefore = (row: Place) => stop === null || comparePlaces(row, stop) <= 0;
  const before = rows.filter(isBefore).slice(0, wanted);
  return { rows: before, stop: before.length === wanted ? null : stop };
}

async function readStream(
  db: LedgerDb,
  stream: TransactionType,
  { filter, residual, segment, wanted, bounds }: Reading,
): Promise<SegmentPage> {
  if (residual === null) {
    // Every row that is read matches, so a page reads no more than it shows.
    const scan = sql`${scanOf(stream, filter, segment)} ${limitTo(wanted)}`;
    const rows = await query(db)`select ${columns} from (${scan}) as t ${orders[segment]}`;
    return { rows, stop: null };
  }
  const most = sql.raw(String(bounds.rowsReadMax));
  // Selects the row at which reading stops too, even if it does not match. Reading ends earlier when the page is full.
  const found = await query(db)`
    select ${columns}, t.is_match as ${out('isMatch', truth)}, t.number = ${most} as ${out('isStop', truth)}
      from (select t.*, coalesce(${residual}, false) as is_match, row_number() over (${orders[segment]}) as number
              from (${scanOf(stream, filter, segment)} limit ${most}) as t) as t
     where t.is_match or t.number = ${most} ${orders[segment]} ${limitTo(wanted)}`;
  const rows = found.filter(({ isMatch }) => isMatch);
  const stop = rows.length < wanted ? found.find(({ isStop }) => isStop) : undefined;
  return { rows, stop: stop ?? null };
}

/** Selects the rows of the stream in the order of the list, by an index of its times or addresses. */
function scanOf(stream: TransactionType, filter: TransactionFilter, segment: Segment): SQL {
  const { from, to, address, isOpen, before } = filter;
  // Words instead of parameters, so that the planner recognises the conditions of partial indexes.
  const conditions = [
    sql.raw(
      `t.stream = '${stream}' and t.occurred_at is ${segment === 'dated' ? 'not null' : 'null'}`,
    ),
    ...(isOpen ? [sql`not t.is_final`] : []),
    ...(from === null ? [] : [sql`t.occurred_at >= ${from}::date::timestamp at time zone 'UTC'`]),
    ...(to === null ? [] : [sql`t.occurred_at < (${to}::date + 1)::timestamp at time zone 'UTC'`]),
    ...(before === null ? [] : [behind(before, segment)]),
  ];
  // `offset 0` makes the planner begin with the address, even if its transactions are many.
  const rows =
    address === null
      ? sql`own.transactions`
      : sql`(select a.* from own.transactions a
              where ${sql.raw(`a.stream = '${stream}'`)}
                and ledger.address_key(a.to_address) = ledger.address_key(${address}::text) offset 0)`;
  return sql`select t.* from ${rows} t where ${sql.join(conditions, sql` and `)} ${orders[segment]}`;
}

/** A number in the text, because the planner estimates by it. */
function limitTo(rows: number): SQL {
  return sql.raw(`limit ${rows}`);
}

function behind({ time, orderNo }: Position, segment: Segment): SQL {
  if (time === null) return sql`t.order_no collate "C" < ${orderNo}::text`;
  if (segment === 'undated') return sql`true`;
  return sql`t.occurred_at <= ${time}::timestamptz
         and (t.occurred_at < ${time}::timestamptz or t.order_no collate "C" < ${orderNo}::text)`;
}

/** Conditions that no index serves; null if there are none. */
function residualCondition(
  { state, coin, chain, min, max, sender }: TransactionFilter,
  isExactCoin: boolean,
): SQL | null {
  const ofCoin = isExactCoin
    ? sql`t.symbol = ${coin}::text`
    : sql`lower(t.symbol) = lower(${coin}::text)`;
  const conditions = [
    ...(state === null ? [] : [sql`lower(btrim(t.state)) = lower(btrim(${state}::text))`]),
    ...(coin === null ? [] : [ofCoin]),
    ...(min === null ? [] : [sql`t.amount >= ${min}::numeric`]),
    ...(max === null ? [] : [sql`t.amount <= ${max}::numeric`]),
    ...(chain === null ? [] : [sql`t.slip44 = ${chain}::integer`]),
    ...(sender === null
      ? []
      : [
          sql`lower(t.from_address) = lower(${sender}::text)
              and ledger.address_key(t.from_address) = ledger.address_key(${sender}::text)`,
        ]),
  ];
  return conditions.length === 0 ? null : sql.join(conditions, sql` and `);
}

/**
 * Orders places as the list shows them, and as the statements order them: later times first, then higher order numbers.
 */
function comparePlaces(one: Place, other: Place): number {
  if (one.micros !== other.micros) {
    if (one.micros === null || other.micros === null) return one.micros === null ? 1 : -1;
    return BigInt(one.micros) > BigInt(other.micros) ? -1 : 1;
  }
  return Buffer.compare(Buffer.from(other.orderNo), Buffer.from(one.orderNo));
}
