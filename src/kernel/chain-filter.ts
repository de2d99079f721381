/**
 * Detection of an address list that ignores the chain parameter. The parameter's name is a guess
 * (docs/wallet-service-api.md, section 4.2). A service that does not know the name may list all addresses for every
 * chain. The ledger would then store an address under the wrong chain.
 */

/** A slip44 code that no chain has. */
export const unusedChain = 2_000_000_017;

export type ChainFilter = 'works' | 'broken' | 'unknown';

/** Addresses listed per chain; `unused` is null if the service refused to list the unused chain. */
export type FilterSeen = {
  /** Addresses listed for the chain itself. */
  own: string[];
  unused: string[] | null;
  /** Addresses listed for other chains of the wallet. */
  others: string[][];
  /** Returns true if at least one of the addresses is the chain's own. */
  isOwn(addresses: string[]): boolean;
};

/**
 * Decides whether the chain filter works. The same addresses on two real chains prove nothing, because many services
 * use one address on several chains. The same addresses on an unused chain prove that the filter is broken. Other
 * addresses on another real chain prove that it works.
 */
export function judgeFilter({ own, unused, others, isOwn }: FilterSeen): ChainFilter {
  if (others.some((other) => other.length > 0 && !isOwn(other))) return 'works';
  if (unused === null) return 'works';
  if (unused.length === 0) return own.length > 0 ? 'works' : 'unknown';
  return isOwn(unused) ? 'broken' : 'works';
}
