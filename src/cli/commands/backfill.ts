import { type TransactionType, transactionTypes } from '../../kernel/vocabulary.ts';
import { runBackfill } from '../../sync/run-backfill.ts';
import type { CommandContext } from '../context/command-context.ts';
import { composeSync } from '../context/compose-sync.ts';
import { addMissingPools, setStates } from '../context/open-ledger.ts';
import { reportIncomplete } from '../output/report-incomplete.ts';
import { createProgress } from '../progress/create-progress.ts';

export type BackfillOptions = {
  type?: TransactionType;
  details: boolean;
  restart?: boolean;
  json?: boolean;
};

/** Runs `wallet-ledger backfill`. Resolves to 0 when the ledger is complete, 3 when something is missing. */
export async function backfill(context: CommandContext, options: BackfillOptions): Promise<number> {
  const { settings } = context;
  const isJson = options.json ?? false;
  const progress = createProgress(context.screen);
  try {
    const { sync } = await composeSync(context, progress.observers);
    await setStates(sync.ledger, context);
    await addMissingPools(sync.ledger, context);
    const incomplete = await runBackfill(sync, {
      types: options.type ? [options.type] : transactionTypes,
      withDetails: options.details,
      isRestart: options.restart ?? false,
      signal: context.shutdown.signal,
      onProgress: progress.onProgress,
    });
    progress.stop();
    return await reportIncomplete(sync.ledger.db, incomplete, { settings, isJson });
  } finally {
    progress.stop();
  }
}
