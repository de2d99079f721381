import { type ChainFilter, judgeFilter, unusedChain } from '../../kernel/chain-filter.ts';
import { LedgerError } from '../../kernel/errors.ts';
import type { PoolTools } from './pool-port.ts';

const samplePageSize = 20;
const refusals = new Set<string>(['service-refused', 'service-unsettled']);

/**
 * Tests whether the chain's address list applies the chain filter, and stores the result with the pool unless it is
 * unknown. Requests the list of a chain that does not exist and, if that shows too little, those of the other
 * configured chains.
 */
export async function proveFilter(
  context: PoolTools,
  slip44: number,
  signal: AbortSignal,
): Promise<ChainFilter> {
  let unused = await listOrRefusal(context, unusedChain, signal);
  const own = await listSample(context, slip44, signal);
  // Refused before and after a list that was granted: the refusal concerns the chain and is no transient fault.
  unused ??= await listOrRefusal(context, unusedChain, signal);
  const judge = async (others: string[][]) => {
    const shared = new Map<string[], boolean>();
    for (const group of [...others, ...(unused ? [unused] : [])])
      shared.set(group, await isOneOwn(context, slip44, group, own));
    return judgeFilter({ own, unused, others, isOwn: (group) => shared.get(group) ?? false });
  };
  let filter = await judge([]);
  if (filter !== 'works') filter = await judge(await listOthers(context, slip44, signal));
  if (filter !== 'unknown') await context.pools.noteChainFilter(slip44, filter);
  return filter;
}

async function isOneOwn(
  { pools }: PoolTools,
  slip44: number,
  group: string[],
  own: string[],
): Promise<boolean> {
  return group.some((address) => own.includes(address)) || (await pools.isAnyListed(slip44, group));
}

async function listOthers(
  context: PoolTools,
  slip44: number,
  signal: AbortSignal,
): Promise<string[][]> {
  const others: string[][] = [];
  for (const other of context.settings.chains) {
    if (other !== slip44) others.push((await listOrRefusal(context, other, signal)) ?? []);
  }
  return others;
}

/** Returns the first addresses of a chain's list. */
async function listSample(
  { client, settings }: PoolTools,
  slip44: number,
  signal: AbortSignal,
  failuresMax?: number,
): Promise<string[]> {
  const pageSize = Math.min(samplePageSize, settings.pageSize);
  const page = await client.listAddresses({ slip44, pageNo: 1, pageSize, failuresMax }, signal);
  return page.records.map(({ address }) => address);
}

/** Returns the first addresses of a chain's list, or null if the service refused to list the chain. */
async function listOrRefusal(
  context: PoolTools,
  slip44: number,
  signal: AbortSignal,
): Promise<string[] | null> {
  try {
    return await listSample(context, slip44, signal, 1);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LedgerError && refusals.has(error.code)) return null;
    throw error;
  }
}
