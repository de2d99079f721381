import { toError } from '../kernel/errors.ts';
import type { TransactionType } from '../kernel/vocabulary.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import { areAssetsKnown } from '../ledger/snapshots/store-snapshot.ts';
import { syncBalances } from './snapshots/sync-balances.ts';
import { syncCoins } from './snapshots/sync-coins.ts';
import type { SyncOptions } from './streams/sync-stream.ts';
import { syncTransactions } from './streams/sync-transactions.ts';
import type { SyncContext, SyncReport } from './sync-context.ts';

/** Upper bound of the time that reading the assets may delay the lists. */
const assetsMostMs = 10_000;

/** Ledgers of this process whose assets are known, or were requested once. */
const asked = new WeakSet<Ledger>();

/**
 * Runs one pass over the transaction lists. A new ledger first reads coins and balances, one request each, because rows
 * are stored with their chain only if the assets are known. If that fails, rows get their chains later.
 */
export async function syncTransactionLists(
  context: SyncContext,
  pass: SyncOptions,
  types?: TransactionType[],
): Promise<SyncReport> {
  if (!asked.has(context.ledger)) await readAssets(context, pass.signal);
  return await syncTransactions(context, pass, types);
}

async function readAssets(context: SyncContext, signal: AbortSignal): Promise<void> {
  asked.add(context.ledger);
  if (await areAssetsKnown(context.ledger.db)) return;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(assetsMostMs)]);
  try {
    await syncCoins(context, limited);
    // There are no transactions yet to compare the balances with.
    await syncBalances(context, limited, { isCompared: false });
  } catch (error) {
    if (signal.aborted) throw error;
    context.log.info(
      { error: toError(error) },
      'coins and balances could not be read before the lists; rows get their chains later',
    );
  }
}
