import { type AssetTotals, createBalanceSheet } from './balance-sheet.ts';
import { createHistory, type History } from './history.ts';
import { inventMovement, type TransactionWish } from './invent-movement.ts';
import { planHistory } from './plan-history.ts';
import { createRowStore, type RawRow, type Row } from './row-store.ts';
import type { SandboxOptions } from './sandbox-options.ts';
import { createTreasury } from './treasury.ts';
import type { Asset } from './wallet-assets.ts';
import { watchChanges } from './watch-changes.ts';

export type NewRawRow = Omit<RawRow, 'kind' | 'time'> & { at: number | undefined };

/** History that grows with the clock: live transactions are created by the next read. */
export type LivingHistory = Pick<History, 'listed' | 'movements'> & {
  /** Returns the new ordinals. Rows without `at` become the newest. Throws like `inventMovement`. */
  add(count: number, wish: TransactionWish & { at?: number }): number[];
  addRaw(row: NewRawRow): void;
  setState(orderNo: string, state: string): void;
  remove(orderNo: string): void;
  read(ordinal: number): Row;
  find(key: { orderNo: string } | { requestId: string }): Row | undefined;
  totals(): Map<Asset, AssetTotals>;
  /** Returns the order numbers of rows that are new or in another state since the last call; none at the first call. */
  takeChanges(): string[];
};

export function createLivingHistory(
  options: SandboxOptions,
  assets: readonly Asset[],
  addressCount: (slip44: number) => number,
): LivingHistory {
  const { seed, clock, startedAt, arrivalsPerSecond } = options;
  const store = createRowStore(options, assets);
  const history = createHistory(store, seed, options.listOrder === 'unordered');
  const sheet = createBalanceSheet(store.read, () => history.listed());
  const inventor = { ...options, assets, treasury: createTreasury(), addressCount };
  let arrived = 0;

  function append(count: number, timeOf: (i: number) => number, wish: TransactionWish): number[] {
    const first = store.length;
    for (let i = 0; i < count; i++) {
      store.append(inventMovement(inventor, first + i, timeOf(i), wish));
    }
    history.listNewRows();
    const ordinals = Array.from({ length: count }, (_, i) => first + i);
    sheet.add(ordinals);
    return ordinals;
  }

  function grown(): History {
    const due = Math.floor(((clock() - startedAt) * arrivalsPerSecond) / 1_000);
    if (due > arrived) {
      const first = arrived + 1;
      arrived = due;
      const intervalMs = 1_000 / arrivalsPerSecond;
      append(due + 1 - first, (i) => startedAt + Math.round((first + i) * intervalMs), {});
    }
    return history;
  }

  function known(orderNo: string): number {
    const ordinal = history.byOrderNo(orderNo);
    if (ordinal === undefined) throw new Error(`the sandbox has no transaction ${orderNo}`);
    sheet.restart();
    return ordinal;
  }

  const nextTime = () => Math.max(clock(), grown().newestTime() + 1);
  append(options.transactions, planHistory(options), {});
  const changes = watchChanges(store, { ...options, grow: grown });

  return {
    add(count, wish) {
      const start = wish.at ?? nextTime();
      return append(count, (i) => start + i, wish);
    },
    addRaw({ at, ...row }) {
      store.appendRaw({ ...row, kind: 'raw', time: at ?? nextTime() });
      history.listNewRows();
    },
    setState: (orderNo, state) => changes.forceState(known(orderNo), state),
    remove: (orderNo) => history.remove(known(orderNo)),
    listed: (type) => grown().listed(type),
    movements: (type) => grown().movements(type),
    read: store.read,
    find(key) {
      const { byOrderNo, byRequestId } = grown();
      const ordinal = 'orderNo' in key ? byOrderNo(key.orderNo) : byRequestId(key.requestId);
      return ordinal === undefined ? undefined : store.read(ordinal);
    },
    totals() {
      grown();
      return sheet.totals(clock());
    },
    takeChanges: changes.take,
  };
}
