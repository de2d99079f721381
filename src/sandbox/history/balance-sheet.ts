import { type Asset, feeAssetOf } from '../world/wallet-assets.ts';
import { isOnTheWay, type Movement, stateAt } from './movement.ts';
import type { Row } from './row-store.ts';

/** Sums in smallest units. */
export type AssetTotals = { balance: bigint; frozen: bigint };

/**
 * Computes balances and frozen amounts. Balance: successful deposits minus successful withdrawals and their fees.
 * Frozen: withdrawals that are not final. Each reading visits only new rows and those that were not final before.
 */
export type BalanceSheet = {
  add(ordinals: readonly number[]): void;
  /** Must be called when a row changes other than by time; all rows are summed again. */
  restart(): void;
  totals(now: number): Map<Asset, AssetTotals>;
};

export function createBalanceSheet(
  read: (ordinal: number) => Row,
  all: () => Iterable<number>,
): BalanceSheet {
  let settled = new Map<Asset, bigint>();
  let open: number[] | null = [];

  function settle({ asset, type, units, feeUnits }: Movement) {
    const change = (of: Asset, by: bigint) => settled.set(of, (settled.get(of) ?? 0n) + by);
    change(asset, type === 'deposit' ? units : -units);
    if (type === 'withdraw') change(feeAssetOf(asset), -feeUnits);
  }

  function settleWhatArrived(now: number): Movement[] {
    const onTheWay: Movement[] = [];
    for (const ordinal of open ?? all()) {
      const row = read(ordinal);
      if (row.kind === 'raw') continue;
      const state = stateAt(row, now);
      if (state === 'success') settle(row);
      if (isOnTheWay(state)) onTheWay.push(row);
    }
    open = onTheWay.map((movement) => movement.ordinal);
    return onTheWay;
  }

  return {
    add(ordinals) {
      for (const ordinal of ordinals) open?.push(ordinal);
    },
    restart() {
      settled = new Map();
      open = null;
    },
    totals(now) {
      const onTheWay = settleWhatArrived(now);
      const totals = new Map<Asset, AssetTotals>();
      for (const [asset, balance] of settled) totals.set(asset, { balance, frozen: 0n });
      for (const { asset, type, units } of onTheWay) {
        if (type !== 'withdraw') continue;
        const { balance, frozen } = totals.get(asset) ?? { balance: 0n, frozen: 0n };
        totals.set(asset, { balance, frozen: frozen + units });
      }
      return totals;
    },
  };
}
