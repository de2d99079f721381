/**
 * Whether an address list heeds the chain that it is asked for. The name of its parameter is a guess, and a service
 * that does not know it may list the addresses of all chains for each: then an address of one chain would be taken for
 * one of another.
 */

/** A slip44 code that no chain has. */
export const unusedChain = 2_000_000_017;

export type ChainFilter = 'works' | 'broken' | 'unknown';

/** What the list showed: `null` when the service refused to list such a chain. */
export type FilterSeen = {
  /** The chain's own addresses. */
  own: string[];
  unused: string[] | null;
  /** Those of other chains that the wallet uses. */
  others: string[][];
  /** Whether one of these addresses is one of the chain's own. */
  isOwn(addresses: string[]): boolean;
};

/**
 * Many services give one address on several chains, so the same addresses on two real chains say nothing; on a chain
 * that does not exist they say all. Another chain with other addresses shows that the filter works, whatever the
 * service lists for a chain that it does not know.
 */
export function judgeFilter({ own, unused, others, isOwn }: FilterSeen): ChainFilter {
  if (others.some((other) => other.length > 0 && !isOwn(other))) return 'works';
  if (unused === null) return 'works';
  if (unused.length === 0) return own.length > 0 ? 'works' : 'unknown';
  return isOwn(unused) ? 'broken' : 'works';
}
