import { type Asset, feeAssetOf } from './wallet-assets.ts';

/**
 * What may be withdrawn without any balance ever falling below zero: deposits count from the moment they are
 * settled, withdrawals and their fees at once, whatever becomes of them.
 */
export type Treasury = {
  receive(asset: Asset, units: bigint, settledAt: number): void;
  /** Sets aside up to `units`, and the fee; returns what is granted, null when nothing can be. */
  withdraw(asset: Asset, units: bigint, feeUnits: bigint, now: number): bigint | null;
};

export function createTreasury(): Treasury {
  const available = new Map<Asset, bigint>();
  let maturing: { asset: Asset; units: bigint; settledAt: number }[] = [];
  let matured = 0;

  const availableOf = (asset: Asset) => available.get(asset) ?? 0n;
  const change = (asset: Asset, units: bigint) => available.set(asset, availableOf(asset) + units);

  // The queue is only roughly in the order of settling; waiting for its head errs on the safe side.
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
