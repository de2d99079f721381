import { isOfRequest, LedgerError } from '../kernel/errors.ts';
import type { TransactionType } from '../kernel/vocabulary.ts';
import { restartStreams } from '../ledger/lists/stream-store.ts';
import { analyzeTransactions } from '../ledger/transactions/analyze-transactions.ts';
import { assignChains } from '../ledger/transactions/assign-chains.ts';
import { releaseAbandonedDetails } from '../ledger/transactions/detail-checks.ts';
import { syncAllDetails } from './details/sync-details.ts';
import { syncAddresses } from './pools/sync-addresses.ts';
import { createPartRunner } from './run-parts.ts';
import { runSyncTask } from './run-sync-task.ts';
import { syncBalances } from './snapshots/sync-balances.ts';
import { syncCoins } from './snapshots/sync-coins.ts';
import type { SyncOptions } from './streams/sync-stream.ts';
import type { Progress, SyncContext, SyncReport } from './sync-context.ts';
import { syncTransactionLists } from './sync-transaction-lists.ts';

export type Backfill = {
  types: TransactionType[];
  withDetails: boolean;
  /** Starts again from the first page, even if an earlier backfill got further. */
  isRestart: boolean;
  signal: AbortSignal;
  onProgress?: Progress;
};

/** Attempts per task: a task that fails although each request was retried runs once more from its checkpoint. */
const triesMax = 2;
/** Tasks without a checkpoint. Their only request has been retried, so another run would only send it again. */
const snapshots = new Set(['coins', 'balances']);
/**
 * Length of one slice. Between two slices a daemon can lease the list, or the backfill reads the rows that arrived at
 * its start.
 */
const sliceMs = 20_000;
/**
 * Duration (ms) of the details after which the lists are read again: without a daemon they would be out of date at the
 * end.
 */
const currentMs = 60_000;
/** Upper bound of the readings of details, because each of them may take long. */
const roundsMax = 2;

/**
 * Reads the whole history once: coins and the addresses of the configured chains, which tell the chain of a row when it
 * is stored; transactions, their details, and balances. Then assigns chains to rows that have none. Continues from the
 * checkpoints of an earlier backfill. Returns the names of the tasks that ended incomplete. Throws the error of a task
 * that fails twice or cannot be retried: a refusal of the service once the other tasks have run, any other at once.
 */
export async function runBackfill(context: SyncContext, backfill: Backfill): Promise<string[]> {
  const { signal, onProgress } = backfill;
  const pass: SyncOptions = {
    signal,
    ifLeased: 'wait',
    sliceMs,
    effort: 'backfill',
    ...(onProgress ? { onProgress } : {}),
  };
  if (backfill.isRestart) await restartStreams(context.ledger.db, backfill.types);
  await releaseAbandonedDetails(context.ledger.db, context.ledger.instance);
  const parts = createPartRunner(context.log);
  const run = (name: string, work: (own: SyncContext) => Promise<SyncReport>) =>
    parts.run(name, () => runPersistently(context, name, work));
  const runLists = () =>
    run('transactions', (own) => syncTransactionLists(own, pass, backfill.types));
  await run('coins', (own) => syncCoins(own, signal));
  await run('addresses', (own) => syncAddresses(own, pass));
  if ((await runLists()).rowsInserted > 0) await analyzeTransactions(context.ledger.db);
  for (let rounds = 0; backfill.withDetails && rounds < roundsMax; rounds += 1) {
    const startedAt = context.clock();
    await run('details', (own) => syncAllDetails(own, signal, onProgress));
    if (context.clock() - startedAt < currentMs) break;
    await runLists();
  }
  await run('balances', (own) => syncBalances(own, signal));
  await assignChains(context.ledger, { signal, mostMs: Number.POSITIVE_INFINITY });
  return parts.end();
}

async function runPersistently(
  context: SyncContext,
  name: string,
  work: (own: SyncContext) => Promise<SyncReport>,
): Promise<SyncReport> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await runSyncTask(context, name, work);
    } catch (error) {
      const isDecided = isOfRequest(error) && snapshots.has(name);
      const mayRepeat =
        error instanceof LedgerError &&
        error.isRetryable &&
        error.code !== 'interrupted' &&
        !isDecided;
      if (!mayRepeat || tries === triesMax) throw error;
      context.log.warn({ part: name, error }, 'failed; continuing from the checkpoint');
    }
  }
}
