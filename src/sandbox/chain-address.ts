import { purpose, seededText } from './seeded-hash.ts';
import type { Chain } from './wallet-assets.ts';

/** The wallet's deposit address number `index` on the chain; never the same for two indices. */
export function ownAddress(seed: number, chain: Chain, index: number): string {
  return addressText(seed + chain.slip44, purpose.ownAddress, chain, index);
}

/** Somebody else's address: where deposits come from and withdrawals go. */
export function foreignAddress(seed: number, chain: Chain, index: number): string {
  return addressText(seed + chain.slip44, purpose.foreignAddress, chain, index);
}

const hotAddresses = new Map<Chain, string>();

/** The wallet's collecting address on the chain, which is not a deposit address; the same for all seeds. */
export function hotAddress(chain: Chain): string {
  const address = hotAddresses.get(chain) ?? foreignAddress(0, chain, 0);
  hotAddresses.set(chain, address);
  return address;
}

function addressText(seed: number, purposeId: number, chain: Chain, index: number): string {
  return (
    chain.addressPrefix +
    seededText(seed, purposeId, index, chain.addressAlphabet, chain.addressLength)
  );
}
