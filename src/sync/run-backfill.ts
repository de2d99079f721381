import { LedgerError } from '../kernel/errors.ts';
import { restartStreams } from '../ledger/lists/stream-store.ts';
import {
  analyzeTransactions,
  type TransactionStream,
} from '../ledger/transactions/store-listed-transactions.ts';
import { releaseAbandonedDetails } from '../ledger/transactions/store-transaction-details.ts';
import { syncAllDetails } from './details/sync-details.ts';
import { syncAddresses } from './pools/sync-addresses.ts';
import { runPart } from './run-part.ts';
import { syncBalances } from './snapshots/sync-balances.ts';
import { syncCoins } from './snapshots/sync-coins.ts';
import type { StreamPass } from './streams/sync-stream.ts';
import { syncTransactions } from './streams/sync-transactions.ts';
import type { PassReport, Progress, SyncTools } from './sync-tools.ts';

export type Backfill = {
  types: TransactionStream[];
  withDetails: boolean;
  /** Walk from the first page although an earlier backfill got further. */
  isRestart: boolean;
  signal: AbortSignal;
  onProgress?: Progress;
};

/** A part that failed although each request was repeated is tried once more from its checkpoint. */
const triesMax = 2;
/** In between a daemon gets at the list, or this one itself reads what has arrived at its head. */
const sliceMs = 20_000;

/**
 * The whole history, once: transactions, their details, balances, coins, and the addresses of the configured
 * chains. Goes on where an earlier one stopped. Returns the names of the parts that ended incomplete.
 */
export async function runBackfill(tools: SyncTools, backfill: Backfill): Promise<string[]> {
  const { signal, onProgress } = backfill;
  const pass: StreamPass = {
    signal,
    whenLeased: 'wait',
    sliceMs,
    effort: 'backfill',
    ...(onProgress ? { onProgress } : {}),
  };
  if (backfill.isRestart) await restartStreams(tools.ledger.db, backfill.types);
  await releaseAbandonedDetails(tools.ledger.db, tools.ledger.instance);
  const parts: [string, (own: SyncTools) => Promise<PassReport>][] = [
    ['transactions', (own) => syncTransactions(own, pass, backfill.types)],
    ['details', (own) => syncAllDetails(own, signal, onProgress)],
    ['balances', (own) => syncBalances(own, signal)],
    ['coins', (own) => syncCoins(own, signal)],
    ['addresses', (own) => syncAddresses(own, pass)],
  ];
  const incomplete: string[] = [];
  for (const [name, work] of parts) {
    if (name === 'details' && !backfill.withDetails) continue;
    const report = await runPersistently(tools, name, work);
    if (!report.isComplete) incomplete.push(name);
    if (name === 'transactions' && report.rowsInserted > 0) {
      await analyzeTransactions(tools.ledger.db);
    }
  }
  return incomplete;
}

async function runPersistently(
  tools: SyncTools,
  name: string,
  work: (own: SyncTools) => Promise<PassReport>,
): Promise<PassReport> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await runPart(tools, name, work);
    } catch (error) {
      const mayRepeat =
        error instanceof LedgerError && error.isRetryable && error.code !== 'interrupted';
      if (!mayRepeat || tries === triesMax) throw error;
      tools.log.warn({ part: name, error }, 'failed, going on from the checkpoint');
    }
  }
}
