import type { SeededRandom } from '../../support/seeded-random.ts';
import {
  amendRow,
  type CoinName,
  finish,
  inventTransaction,
  stepOn,
} from './invent-transaction.ts';
import { createListHistory, type ListHistory } from './list-history.ts';
import type { Moment, Moments } from './moments.ts';
import { makeOdd } from './odd-row.ts';
import { createOrderedList, type OrderedList } from './ordered-list.ts';
import { type Money, minus, moneyOf, plus } from './plain-coin.ts';
import { type Stream, standingOf, type TransactionRow } from './transaction-row.ts';

export type TransactionTruth = {
  readonly byOrderNo: ReadonlyMap<string, TransactionRow>;
  readonly lists: Readonly<Record<Stream | 'all', OrderedList>>;
  arrive(count: number, when?: { isLate?: boolean }): string[];
  advance(count: number): number;
  settle(): number;
  amend(count: number): number;
  /** Removes final orders from their lists; the returned function restores them. */
  hide(count: number): () => void;
  history: ListHistory;
};

export type TransactionTruthOptions = {
  history: number;
  oddRows: number;
  /** Odd rows are of these. */
  coins: readonly CoinName[];
  plainCoins: readonly CoinName[];
  /** Share of the plain coins among all rows. */
  plainShare: number;
  /** Called with the sums of each row of a plain coin; moment null: before the first request. */
  pay(money: Money, moment: Moment | null): void;
  random: SeededRandom;
  moments: Moments;
  /** An address that a deposit may go to. */
  knownAddress(): string | null;
};

const historySpacingMs = 40_000;
const lateMs = 86_400_000;

export function createTransactionTruth(options: TransactionTruthOptions): TransactionTruth {
  const { random, moments, history, oddRows, plainShare } = options;
  const byOrderNo = new Map<string, TransactionRow>();
  const lists = {
    deposit: createOrderedList(),
    withdraw: createOrderedList(),
    all: createOrderedList(),
  };
  const open: TransactionRow[] = [];
  const final: TransactionRow[] = [];
  const shown = createListHistory();
  let serial = 0;

  const add = (timeMs: number, isFinal: boolean, isOdd = false) => {
    serial += 1;
    const known = random.chance(0.3) ? options.knownAddress() : null;
    const isPlain = random.chance(plainShare) && !isOdd;
    const coin = random.pick(isPlain ? options.plainCoins : options.coins);
    return inventTransaction(random, serial, timeMs, coin, known, isFinal);
  };
  const show = (row: TransactionRow) => {
    lists[row.stream].add(row);
    lists.all.add(row);
    shown.note(row.stream, row.orderNo, true);
  };
  const enter = (row: TransactionRow, moment: Moment | null) => {
    byOrderNo.set(row.orderNo, row);
    show(row);
    options.pay(moneyOf(row), moment);
    if (row.odd === null) (row.plan.length > 0 ? open : final).push(row);
    return row;
  };
  const change = (row: TransactionRow, moment: Moment, alter: (row: TransactionRow) => void) => {
    row.versions ??= [{ ...standingOf(row), moment: null, at: 0 }];
    const before = moneyOf(row);
    alter(row);
    options.pay(plus(moneyOf(row), minus(before)), moment);
    row.versions.push({ ...standingOf(row), moment: moment.id, at: moment.at });
  };

  const total = history + oddRows;
  let timeMs = Date.now() - (total + 1) * historySpacingMs;
  for (let index = 0; index < total; index += 1) {
    // Equal times, also for several rows in sequence.
    if (!random.chance(0.2)) timeMs += 1 + random.below(historySpacingMs);
    const isOdd =
      Math.floor(((index + 1) * oddRows) / total) > Math.floor((index * oddRows) / total);
    const row = add(timeMs, isOdd || !random.chance(0.02), isOdd);
    if (isOdd) makeOdd(row, Math.floor((index * oddRows) / total));
    enter(row, null);
  }

  return {
    byOrderNo,
    lists,
    history: shown,
    hide(wanted) {
      const hidden = [...new Set(Array.from({ length: wanted }, () => random.pick(final)))];
      for (const row of hidden) {
        lists[row.stream].remove(row);
        lists.all.remove(row);
        shown.note(row.stream, row.orderNo, false);
      }
      return () => hidden.forEach(show);
    },
    arrive(count, when = {}) {
      const moment = moments.begin();
      return Array.from({ length: count }, () => {
        const isLate = when.isLate ?? random.chance(0.03);
        const at = Date.now() - (isLate ? random.below(lateMs) : 0);
        const row = add(at, random.chance(0.2));
        row.enteredAt = Date.now();
        return enter(row, moment).orderNo;
      });
    },
    advance(count) {
      const moment = moments.begin();
      const moved = Math.min(count, open.length);
      for (let done = 0; done < moved && open.length > 0; done += 1) {
        const index = random.below(open.length);
        const row = open[index];
        if (!row) continue;
        change(row, moment, (each) => stepOn(each, random));
        if (row.plan.length === 0) {
          final.push(row);
          open[index] = open.at(-1) ?? row;
          open.pop();
        }
      }
      return moved;
    },
    settle() {
      const moment = moments.begin();
      for (const row of open) change(row, moment, (each) => finish(each, random));
      final.push(...open);
      return open.splice(0).length;
    },
    amend(count) {
      if (final.length === 0) return 0;
      const moment = moments.begin();
      for (let done = 0; done < count; done += 1) {
        change(random.pick(final), moment, (row) => amendRow(row, random));
      }
      return count;
    },
  };
}
