import type { ChainFilter } from '../../kernel/chain-filter.ts';
import { seeChainFilter } from '../../service/see-chain-filter.ts';
import type { PoolTools } from './pool-port.ts';

/**
 * Tests whether the chain's address list applies the chain filter, and stores the result with the pool unless it is
 * unknown.
 */
export async function proveFilter(
  { pools, client, settings }: PoolTools,
  slip44: number,
  signal: AbortSignal,
): Promise<ChainFilter> {
  const { chains, pageSize } = settings;
  const isListed = (chain: number, addresses: string[]) => pools.isAnyListed(chain, addresses);
  const tools = { client, chains, pageSizeMax: pageSize, isListed, signal };
  const { filter } = await seeChainFilter(tools, slip44);
  if (filter !== 'unknown') await pools.noteChainFilter(slip44, filter);
  return filter;
}
