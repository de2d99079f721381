import { ownAddress } from './chain-address.ts';
import type { Chain } from './wallet-assets.ts';

/** Deposit addresses of the wallet, oldest first. Addresses are computed; only their counts are stored. */
export type AddressBook = {
  /** Number of addresses that exist on the chain, listed or not; 0 for an unsupported chain. */
  count(slip44: number): number;
  /** Number of addresses that the list shows at `now`, Unix ms. */
  listedCount(slip44: number, now: number): number;
  at(slip44: number, index: number): string | undefined;
  generate(slip44: number, num: number, now: number): string[];
  /** Number of addresses generated since the start. */
  generated(slip44: number): number;
};

type BookOptions = { seed: number; addressesPerChain: number; addressLagMs: number };

export function createAddressBook(chains: readonly Chain[], options: BookOptions): AddressBook {
  const batches = new Map<number, { at: number; num: number }[]>();
  const chainOf = new Map(chains.map((chain) => [chain.slip44, chain]));

  function sum(slip44: number, until: number): number {
    const past = (batches.get(slip44) ?? []).filter((batch) => batch.at <= until);
    return past.reduce((total, batch) => total + batch.num, 0);
  }
  const existing = (slip44: number) => (chainOf.has(slip44) ? options.addressesPerChain : 0);
  const count = (slip44: number) => existing(slip44) + sum(slip44, Number.POSITIVE_INFINITY);
  const at = (slip44: number, index: number) => {
    const chain = chainOf.get(slip44);
    return chain && ownAddress(options.seed, chain, index);
  };

  return {
    count,
    at,
    listedCount: (slip44, now) => existing(slip44) + sum(slip44, now - options.addressLagMs),
    generated: (slip44) => sum(slip44, Number.POSITIVE_INFINITY),
    generate(slip44, num, now) {
      const first = count(slip44);
      batches.set(slip44, [...(batches.get(slip44) ?? []), { at: now, num }]);
      return Array.from({ length: num }, (_, i) => at(slip44, first + i) ?? '');
    },
  };
}
