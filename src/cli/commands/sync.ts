import { type TaskName, taskNames } from '../../kernel/vocabulary.ts';
import { runParts } from '../../sync/sync-tasks.ts';
import type { CommandContext } from '../context/command-context.ts';
import { composeSync } from '../context/compose-sync.ts';
import { addMissingPools, keepStates } from '../context/open-ledger.ts';
import { reportIncomplete } from '../output/report-incomplete.ts';
import { createProgress } from '../progress/create-progress.ts';

/** Runs `wallet-ledger sync [part …]`: one pass of each part. Resolves to 0, or to 3 when something is missing. */
export async function sync(
  context: CommandContext,
  named: readonly TaskName[],
  options: { json?: boolean },
): Promise<number> {
  const { settings } = context;
  const isJson = options.json ?? false;
  const parts = named.length > 0 ? named : taskNames;
  const progress = createProgress(context.screen);
  try {
    const { sync } = await composeSync(context, progress.observers);
    await keepStates(sync.ledger, context);
    if (parts.includes('pools')) await addMissingPools(sync.ledger, context);
    const incomplete = await runParts(sync, parts, {
      signal: context.shutdown.signal,
      ifLeased: 'wait',
      sliceMs: null,
      effort: 'command',
      onProgress: progress.onProgress,
    });
    progress.stop();
    return await reportIncomplete(sync.ledger.db, incomplete, { settings, isJson });
  } finally {
    progress.stop();
  }
}
