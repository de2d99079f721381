import type { TransactionType } from '../../kernel/vocabulary.ts';
import { hash32, purpose } from '../seeded-hash.ts';
import { type Movement, orderNoOf, requestIdOf } from './movement.ts';
import { createOrderedRows, type OrderedRows } from './ordered-rows.ts';
import type { RowStore } from './row-store.ts';

/** Transaction lists as ordinals: all rows, and the rows of each type. */
export type History = {
  newestTime(): number;
  /** Lists the rows that the store received since the last call. */
  listNewRows(): void;
  remove(ordinal: number): void;
  listed(type?: TransactionType): OrderedRows;
  movements(type?: TransactionType): Iterable<Movement>;
  /** Returns the ordinal of the listed row; undefined when there is none. */
  byOrderNo(orderNo: string): number | undefined;
  byRequestId(requestId: string): number | undefined;
};

/** Creates the lists in the order of time; with `isScattered`, in a stable order that is independent of time. */
export function createHistory(store: RowStore, seed: number, isScattered: boolean): History {
  const { timeOf, typeOf } = store;
  const place = (ordinal: number) => hash32(seed, purpose.place, ordinal);
  const compare = isScattered
    ? (a: number, b: number) => place(a) - place(b)
    : (a: number, b: number) => timeOf(a) - timeOf(b) || a - b;
  const lists = {
    all: createOrderedRows(compare),
    deposit: createOrderedRows(compare),
    withdraw: createOrderedRows(compare),
  };
  const rawByOrderNo = new Map<string, number>();
  const removed = new Set<number>();
  let listedUntil = 0;
  let newestTime = 0;

  function known(ordinal: number, key: string, keyOf: typeof orderNoOf): number | undefined {
    const isThere = ordinal < store.length && !removed.has(ordinal);
    return isThere && keyOf(seed, ordinal) === key ? ordinal : undefined;
  }

  function noteRow(ordinal: number) {
    newestTime = Math.max(newestTime, timeOf(ordinal));
    const row = store.rawAt(ordinal);
    if (row && row.orderNo !== null) rawByOrderNo.set(row.orderNo, ordinal);
  }

  return {
    newestTime: () => newestTime,
    listNewRows() {
      const count = store.length - listedUntil;
      const ordinals = Array.from({ length: count }, (_, i) => listedUntil + i);
      listedUntil = store.length;
      for (const ordinal of ordinals) noteRow(ordinal);
      lists.all.add(ordinals);
      lists.deposit.add(ordinals.filter((ordinal) => typeOf(ordinal) === 'deposit'));
      lists.withdraw.add(ordinals.filter((ordinal) => typeOf(ordinal) === 'withdraw'));
    },
    remove(ordinal) {
      removed.add(ordinal);
      lists.all.remove(ordinal);
      lists[typeOf(ordinal)].remove(ordinal);
    },
    listed: (type) => lists[type ?? 'all'],
    *movements(type) {
      for (const ordinal of lists[type ?? 'all']) {
        const row = store.read(ordinal);
        if (row.kind === 'movement') yield row;
      }
    },
    byOrderNo(orderNo) {
      const raw = rawByOrderNo.get(orderNo);
      if (raw !== undefined && !removed.has(raw)) return raw;
      return known(Number(orderNo.slice(10)), orderNo, orderNoOf);
    },
    byRequestId(requestId) {
      const ordinal = known(Number.parseInt(requestId.slice(24), 16), requestId, requestIdOf);
      return ordinal !== undefined && typeOf(ordinal) === 'withdraw' ? ordinal : undefined;
    },
  };
}
