import { syncAllDetails } from './details/sync-details.ts';
import { fillPools } from './pools/fill-pools.ts';
import { syncAddresses } from './pools/sync-addresses.ts';
import { runPart } from './run-part.ts';
import { syncBalances } from './snapshots/sync-balances.ts';
import { syncCoins } from './snapshots/sync-coins.ts';
import type { StreamPass } from './streams/sync-stream.ts';
import { syncTransactions } from './streams/sync-transactions.ts';
import type { PassReport, SyncTools } from './sync-tools.ts';

type Part = (tools: SyncTools, pass: StreamPass) => Promise<PassReport>;

/** What the ledger keeps in step, in the order in which one pass over everything goes. */
export const syncParts = {
  transactions: (tools, pass) => syncTransactions(tools, pass),
  details: (tools, pass) => syncAllDetails(tools, pass.signal, pass.onProgress),
  balances: (tools, pass) => syncBalances(tools, pass.signal),
  coins: (tools, pass) => syncCoins(tools, pass.signal),
  addresses: (tools, pass) => syncAddresses(tools, pass),
  pools: (tools, pass) => fillPools(tools, { signal: pass.signal, whenBusy: 'wait' }),
} as const satisfies Record<string, Part>;

export type PartName = keyof typeof syncParts;

export function isPartName(name: string): name is PartName {
  return Object.hasOwn(syncParts, name);
}

/** One pass of each named part, one after the other. The names of those that ended incomplete are returned. */
export async function runParts(
  tools: SyncTools,
  names: PartName[],
  pass: StreamPass,
): Promise<PartName[]> {
  const incomplete: PartName[] = [];
  for (const name of names) {
    const report = await runPart(tools, name, (own) => syncParts[name](own, pass));
    if (!report.isComplete) incomplete.push(name);
  }
  return incomplete;
}
