import type { TransactionStream } from '../../ledger/transactions/store-listed-transactions.ts';
import { runBackfill } from '../../sync/run-backfill.ts';
import { transactionStreams } from '../../sync/streams/sync-transactions.ts';
import type { CommandContext } from '../command-context.ts';
import { composeSync } from '../compose-sync.ts';
import { createProgress } from '../progress/create-progress.ts';
import { reportIncomplete } from '../report-incomplete.ts';

export type BackfillOptions = { type?: TransactionStream; details: boolean; restart?: boolean };

/** Runs `wallet-ledger backfill`. Resolves to 0 when the ledger is complete, 3 when something is missing. */
export async function backfill(context: CommandContext, options: BackfillOptions): Promise<number> {
  const progress = createProgress(context.screen);
  try {
    const { sync } = await composeSync(context, progress.observers);
    const incomplete = await runBackfill(sync, {
      types: options.type ? [options.type] : transactionStreams,
      withDetails: options.details,
      isRestart: options.restart ?? false,
      signal: context.shutdown.signal,
      onProgress: progress.onProgress,
    });
    progress.stop();
    return await reportIncomplete(sync.ledger.db, incomplete);
  } finally {
    progress.stop();
  }
}
