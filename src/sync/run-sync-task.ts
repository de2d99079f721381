import { LedgerError, toError } from '../kernel/errors.ts';
import { inSpan } from '../kernel/in-span.ts';
import { databaseError } from '../ledger/connection/database-error.ts';
import { recordRun, type SyncRun } from '../ledger/reports/sync-run-store.ts';
import { settleHome } from './settle-home.ts';
import type { SyncContext, SyncReport } from './sync-context.ts';

/**
 * Runs one task and writes its outcome to `sync_runs`. A successful pass without a request leaves no row, nor does an
 * `isQuiet` one that changed nothing. Rethrows the error of the task; an error of the database becomes a LedgerError.
 */
export async function runSyncTask(
  context: SyncContext,
  part: string,
  work: (context: SyncContext) => Promise<SyncReport>,
  { isQuiet = false }: { isQuiet?: boolean } = {},
): Promise<SyncReport> {
  // Tasks share one client and run concurrently; each counts its own requests.
  const client = context.client.metered();
  const startedAt = performance.now();
  const record = (outcome: SyncRun['outcome'], report: Partial<SyncReport>, error: string | null) =>
    recordRun(
      context.ledger.db,
      {
        job: part,
        durationMs: performance.now() - startedAt,
        outcome,
        requests: client.requests(),
        rowsSeen: report.rowsSeen ?? 0,
        rowsInserted: report.rowsInserted ?? 0,
        rowsUpdated: report.rowsUpdated ?? 0,
        error,
      },
      context.settings.retention,
    );
  try {
    await settleHome(context);
    const report = await tracedWork(part, { ...context, client }, work);
    const hasChanged = report.rowsInserted + report.rowsUpdated > 0;
    if (client.requests() > 0 && (hasChanged || !isQuiet))
      await record(report.isComplete ? 'done' : 'incomplete', report, null);
    context.onRun?.(part, report);
    return report;
  } catch (thrown) {
    const error = databaseError(toError(thrown));
    const isInterrupted = error instanceof LedgerError && error.code === 'interrupted';
    await record(isInterrupted ? 'interrupted' : 'failed', {}, error.message).catch((failure) =>
      context.log.debug(
        { error: toError(failure) },
        'the failed pass could not be recorded in sync_runs',
      ),
    );
    throw error;
  }
}

function tracedWork(
  part: string,
  context: SyncContext,
  work: (context: SyncContext) => Promise<SyncReport>,
): Promise<SyncReport> {
  return inSpan(`part ${part}`, {}, async (span) => {
    const report = await work(context);
    span.setAttributes({
      'wallet_ledger.requests': context.client.requests(),
      'wallet_ledger.rows': report.rowsSeen,
      'wallet_ledger.inserted': report.rowsInserted,
      'wallet_ledger.updated': report.rowsUpdated,
      'wallet_ledger.is_complete': report.isComplete,
    });
    return report;
  });
}
