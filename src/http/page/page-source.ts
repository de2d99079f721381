import { LedgerError, toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import type { DailyFlows } from '../../ledger/reports/read-flows.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { renderFailure } from '../status-page/status-page.ts';
import { answerWithin, cacheFor } from './cache-for.ts';
import type { Page } from './page-frame.ts';

/** `isFailure`: the page shows an error in place of the status. */
export type ReadPage = { page: Page; isFailure: boolean };

const keepMs = 1_000;
const flowsKeepMs = 30_000;
const answerMs = 10_000;
const flowsAnswerMs = 3_000;

/**
 * Returns a function that reads and renders a status page. Callers within a second share one page; the flows are read
 * at most twice a minute, and are null if they cannot be read or there is no `readFlows`. The function never rejects.
 */
export function createPageSource(options: {
  readStatus(): Promise<StatusReport>;
  readFlows?: () => Promise<DailyFlows>;
  render(report: StatusReport, flows: DailyFlows | null): Promise<Page>;
  log: Log;
}): () => Promise<ReadPage> {
  const { log, render } = options;
  const readStatus = logged(options.readStatus, 'the status', log);
  const readFlows = options.readFlows
    ? cacheFor(logged(options.readFlows, 'the daily flows', log), flowsKeepMs)
    : async () => null;
  const page = cacheFor(async () => {
    const [report, flows] = await Promise.all([
      readStatus(),
      answerWithin(readFlows(), flowsAnswerMs).catch(() => null),
    ]);
    return await render(report, flows);
  }, keepMs);
  return async () => {
    try {
      return { page: await answerWithin(page(), answerMs), isFailure: false };
    } catch (error) {
      return { page: await renderFailure(describeFailure(toError(error))), isFailure: true };
    }
  };
}

/** Logs when reading begins to fail and when it works again. */
function logged<T>(read: () => Promise<T>, what: string, log: Log): () => Promise<T> {
  let isFailing = false;
  return async () => {
    try {
      const outcome = await read();
      if (isFailing) log.info({}, `${what} can be read again`);
      isFailing = false;
      return outcome;
    } catch (error) {
      if (!isFailing) log.warn({ error: toError(error) }, `${what} cannot be read`);
      isFailing = true;
      throw error;
    }
  };
}

/** Shows the messages of our own errors only; others may quote SQL statements. */
function describeFailure(error: Error): { message: string; cure: string } {
  if (error instanceof LedgerError) return { message: error.message, cure: error.cure };
  return {
    message: 'The database or the queue does not answer.',
    cure: 'check that PostgreSQL runs, and Redis if REDIS_URL is set; the log has the details',
  };
}
