import { LedgerError, toError } from '../kernel/errors.ts';
import { inSpan } from '../kernel/in-span.ts';
import { databaseError } from '../ledger/connection/connect-ledger.ts';
import { recordRun, type SyncRun } from '../ledger/reports/sync-run-store.ts';
import { settleHome } from './settle-home.ts';
import type { PassReport, SyncTools } from './sync-tools.ts';

/**
 * Runs one part of the work and writes its outcome to `sync_runs`; a pass that had nothing to do and asked nothing
 * leaves no trace. Fails with a LedgerError that names the part.
 */
export async function runPart(
  tools: SyncTools,
  part: string,
  work: (tools: SyncTools) => Promise<PassReport>,
): Promise<PassReport> {
  // Parts work side by side on one client: each counts its own requests.
  const client = tools.client.metered();
  const startedAt = performance.now();
  const record = (outcome: SyncRun['outcome'], report: Partial<PassReport>, error: string | null) =>
    recordRun(tools.ledger.db, {
      job: part,
      durationMs: performance.now() - startedAt,
      outcome,
      requests: client.requests(),
      rowsSeen: report.rowsSeen ?? 0,
      rowsInserted: report.rowsInserted ?? 0,
      rowsUpdated: report.rowsUpdated ?? 0,
      error,
    });
  try {
    await settleHome(tools);
    const report = await tracedWork(part, { ...tools, client }, work);
    if (client.requests() > 0)
      await record(report.isComplete ? 'done' : 'incomplete', report, null);
    tools.onRun?.(part, report);
    return report;
  } catch (thrown) {
    const error = databaseError(toError(thrown));
    const isInterrupted = error instanceof LedgerError && error.code === 'interrupted';
    await record(isInterrupted ? 'interrupted' : 'failed', {}, error.message).catch((failure) =>
      tools.log.debug({ error: toError(failure) }, 'the failed pass could not be written down'),
    );
    throw error;
  }
}

function tracedWork(
  part: string,
  tools: SyncTools,
  work: (tools: SyncTools) => Promise<PassReport>,
): Promise<PassReport> {
  return inSpan(`part ${part}`, {}, async (span) => {
    const report = await work(tools);
    span.setAttributes({
      'wallet_ledger.requests': tools.client.requests(),
      'wallet_ledger.rows': report.rowsSeen,
      'wallet_ledger.inserted': report.rowsInserted,
      'wallet_ledger.updated': report.rowsUpdated,
      'wallet_ledger.is_complete': report.isComplete,
    });
    return report;
  });
}
