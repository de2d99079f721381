import { assignChains } from '../../ledger/transactions/assign-chains.ts';
import type { SyncContext } from '../sync-context.ts';

/** Upper bound of the time in which a pass assigns chains; the next pass continues. */
const briefMs = 10_000;

/** Assigns chains to stored rows that have none, if the wallet got an asset or an address since the last time. */
export function assignBriefly({ ledger }: SyncContext, signal: AbortSignal): Promise<void> {
  return assignChains(ledger, { signal, mostMs: briefMs });
}
