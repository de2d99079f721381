import { type Asset, feeAssetOf } from '../world/wallet-assets.ts';

/**
 * Amounts that can be withdrawn without a balance ever falling below zero. Deposits count from their final state on,
 * withdrawals and their fees at once, whatever their outcome.
 */
export type Treasury = {
  receive(asset: Asset, units: bigint, settledAt: number): void;
  /**
   * Reserves at most `units` and an eighth of the available amount, and the fee. Returns the reserved units, or null
   * when the amounts do not suffice.
   */
  withdraw(asset: Asset, units: bigint, feeUnits: bigint, now: number): bigint | null;
};

export function createTreasury(): Treasury {
  const available = new Map<Asset, bigint>();
  let maturing: { asset: Asset; units: bigint; settledAt: number }[] = [];
  let matured = 0;

  const availableOf = (asset: Asset) => available.get(asset) ?? 0n;
  const change = (asset: Asset, units: bigint) => available.set(asset, availableOf(asset) + units);

  // The queue is only roughly in the order of settling. Waiting for its first row can delay a deposit, but never counts
  // one too early.
  function mature(now: number) {
    for (; matured < maturing.length; matured++) {
      const deposit = maturing[matured];
      if (deposit === undefined || deposit.settledAt > now) break;
      change(deposit.asset, deposit.units);
    }
    if (matured < 1_000) return;
    maturing = maturing.slice(matured);
    matured = 0;
  }

  return {
    receive(asset, units, settledAt) {
      maturing.push({ asset, units, settledAt });
    },
    withdraw(asset, wanted, feeUnits, now) {
      mature(now);
      const share = availableOf(asset) / 8n;
      const units = wanted < share ? wanted : share;
      const feeAsset = feeAssetOf(asset);
      const feeCover = availableOf(feeAsset) - (feeAsset === asset ? units : 0n);
      if (units <= 0n || feeCover < feeUnits) return null;
      change(asset, -units);
      change(feeAsset, -feeUnits);
      return units;
    },
  };
}
