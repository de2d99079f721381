import type { SandboxOptions } from '../sandbox-options.ts';
import type { Asset } from '../world/wallet-assets.ts';
import { type AssetTotals, createBalanceSheet } from './balance-sheet.ts';
import { createGrowth, type Growth } from './grow-history.ts';
import { createHistory, type History } from './history.ts';
import type { Transfers } from './internal-transfers.ts';
import { inventMovement, type TransactionWish } from './invent-movement.ts';
import { createRowStore, type RawRow, type Row } from './row-store.ts';
import { createTreasury } from './treasury.ts';
import { watchChanges } from './watch-changes.ts';

export type NewRawRow = Omit<RawRow, 'kind' | 'time'> & { at: number | undefined };

/** History that grows with the clock: transactions that are due are created by the next read. */
export type LivingHistory = Pick<History, 'listed' | 'movements'> & {
  /** Creates the transactions that are due. Must be called before any other function. */
  grow(): void;
  growBefore: Growth['growBefore'];
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
  transfers: Transfers | null = null,
): LivingHistory {
  const { seed, clock } = options;
  const store = createRowStore(options, assets);
  const history = createHistory(store, seed, options.listOrder === 'unordered');
  const sheet = createBalanceSheet(store.read, () => history.listed());
  const inventor = { ...options, assets, treasury: createTreasury(), addressCount };
  const growth = createGrowth(options, store, inventor, transfers);
  let listedUntil = 0;

  function listNewRows(): void {
    history.listNewRows();
    sheet.add(Array.from({ length: store.length - listedUntil }, (_, i) => listedUntil + i));
    listedUntil = store.length;
  }

  function grown(): History {
    growth.growDue();
    if (store.length > listedUntil) listNewRows();
    return history;
  }

  function known(orderNo: string): number {
    const ordinal = history.byOrderNo(orderNo);
    if (ordinal === undefined) throw new Error(`the sandbox has no transaction ${orderNo}`);
    sheet.restart();
    return ordinal;
  }

  const nextTime = () => Math.max(clock(), grown().newestTime() + 1);
  const changes = watchChanges(store, { ...options, grow: grown });

  return {
    grow: () => void grown(),
    growBefore: growth.growBefore,
    add(count, wish) {
      const start = wish.at ?? nextTime();
      const first = store.length;
      const ordinals = Array.from({ length: count }, (_, i) => first + i);
      for (const ordinal of ordinals) {
        store.append(inventMovement(inventor, ordinal, start + ordinal - first, wish));
      }
      listNewRows();
      return ordinals;
    },
    addRaw({ at, ...row }) {
      store.appendRaw({ ...row, kind: 'raw', time: at ?? nextTime() });
      listNewRows();
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
