import { AsyncLocalStorage } from 'node:async_hooks';
import { LedgerError, toError } from '../kernel/errors.ts';
import { databaseError } from '../ledger/connect-ledger.ts';
import { recordRun, type SyncRun } from '../ledger/sync-run-store.ts';
import type { PassReport, SyncTools } from './sync-tools.ts';

/** Each part's own requests, told apart although parts run side by side on one client. */
const requestsOfPart = new AsyncLocalStorage<{ count: number }>();

/** To be called for every attempt that the client sends. */
export function countRequest(): void {
  const counter = requestsOfPart.getStore();
  if (counter) counter.count += 1;
}

/**
 * Runs one part of the work and writes its outcome to `sync_runs`; a pass that had nothing to do and asked nothing
 * leaves no trace. Fails with a LedgerError that names the part.
 */
export async function runPart(
  tools: SyncTools,
  part: string,
  work: () => Promise<PassReport>,
): Promise<PassReport> {
  const counter = { count: 0 };
  const startedAt = performance.now();
  const record = (outcome: SyncRun['outcome'], report: Partial<PassReport>, error: string | null) =>
    recordRun(tools.ledger.db, {
      job: part,
      durationMs: performance.now() - startedAt,
      outcome,
      requests: counter.count,
      rowsSeen: report.rowsSeen ?? 0,
      rowsInserted: report.rowsInserted ?? 0,
      rowsUpdated: report.rowsUpdated ?? 0,
      error,
    });
  try {
    const report = await requestsOfPart.run(counter, work);
    if (counter.count > 0) await record(report.isComplete ? 'done' : 'incomplete', report, null);
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
