import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import type { Log } from '../../kernel/log.ts';
import { type TransactionType, transactionTypes } from '../../kernel/vocabulary.ts';
import { createWokenWorker, type WokenWorker } from '../../kernel/woken-worker.ts';
import {
  type HintSubject,
  hintedDetailsDueIn,
  lookDueIn,
  readHintedSubjects,
} from '../../ledger/hint-store.ts';
import { syncHintedDetails } from '../details/sync-details.ts';
import { runSyncTask } from '../run-sync-task.ts';
import type { SyncContext, SyncReport } from '../sync-context.ts';
import { lookAtList } from './look-at-list.ts';

export type HintServer = {
  /** Looks for hints in the database; any number of calls at once costs one query in a tenth of a second. */
  wake(): void;
  close(): Promise<void>;
};

/** Milliseconds between two queries for hints; any role that may connect can send notifications. */
const wakeEveryMs = 100;
/** Interval of the checks without a notification: a look may have failed, or notifications may not arrive. */
const heartbeatMs = 10_000;
/** Pause before the lease of a list is requested again; it doubles, because a slice may take 20 s. */
const leasePauseMs = 50;
const leasePauseMaxMs = 1_000;

/**
 * Serves hints of these wallets until closed, together with the daemons of other processes. The wallets are of one
 * ledger; one query finds the hints of them all.
 */
export function serveHints(contexts: SyncContext[], log: Log): HintServer {
  const closing = new AbortController();
  const { signal } = closing;
  const wallets = new Map(contexts.map((each) => [each.ledger.wallet, openWorkers(each, signal)]));
  const dispatcher = createWokenWorker(
    async () => {
      const [first] = contexts;
      const found = first ? await readHintedSubjects(first.ledger.db, [...wallets.keys()]) : [];
      for (const { wallet, subject } of found) wallets.get(wallet)?.get(subject)?.wake();
      await abortableSleep(wakeEveryMs, signal);
    },
    reportFailures(log, signal),
  );
  const heartbeat = setInterval(dispatcher.wake, heartbeatMs);
  dispatcher.wake();
  return {
    wake: dispatcher.wake,
    async close() {
      closing.abort();
      clearInterval(heartbeat);
      const workers = [...wallets.values()].flatMap((ofWallet) => [...ofWallet.values()]);
      await Promise.all([dispatcher, ...workers].map((one) => one.stop()));
    },
  };
}

/** Opens the workers that serve the hints of a wallet, by their subject. */
function openWorkers(context: SyncContext, signal: AbortSignal): Map<HintSubject, WokenWorker> {
  const onError = reportFailures(context.log, signal);
  const details = createWokenWorker(() => serveDetails(context, signal), onError);
  const lists = transactionTypes.map((list): [HintSubject, WokenWorker] => [
    list,
    createWokenWorker(() => serveList(context, list, { signal, onChange: details.wake }), onError),
  ]);
  return new Map([['details', details], ...lists]);
}

/**
 * Looks at the list while hints of it wait. Calls `onChange` at the end too: another pass may have brought the rows.
 */
async function serveList(
  context: SyncContext,
  list: TransactionType,
  { signal, onChange }: { signal: AbortSignal; onChange: () => void },
): Promise<void> {
  let pauseMs = leasePauseMs;
  for (;;) {
    const waitMs = await lookDueIn(context.ledger.db, list);
    if (waitMs === null) return onChange();
    if (waitMs > 0) {
      await abortableSleep(waitMs, signal);
      continue;
    }
    const report = await runHinted(context, (own) => lookAtList(own, list, signal));
    if (report === null) {
      await abortableSleep(pauseMs, signal);
      pauseMs = Math.min(leasePauseMaxMs, 2 * pauseMs);
    } else if (report.rowsInserted + report.rowsUpdated > 0) {
      onChange();
    }
  }
}

/** Fetches details while hints name rows that lack them. */
async function serveDetails(context: SyncContext, signal: AbortSignal): Promise<void> {
  for (;;) {
    const waitMs = await hintedDetailsDueIn(context.ledger.db);
    if (waitMs === null) return;
    if (waitMs > 0) await abortableSleep(waitMs, signal);
    else await runHinted(context, (own) => syncHintedDetails(own, signal));
  }
}

async function runHinted(
  context: SyncContext,
  work: (own: SyncContext) => Promise<SyncReport | null>,
): Promise<SyncReport | null> {
  let outcome: SyncReport | null = null;
  await runSyncTask(
    context,
    'hints',
    async (own) => {
      outcome = await work(own);
      return outcome ?? { rowsSeen: 0, rowsInserted: 0, rowsUpdated: 0, isComplete: true };
    },
    { isQuiet: true },
  );
  return outcome;
}

/** Logs the first failure as a warning, and those that follow it within a minute at level debug. */
function reportFailures(log: Log, signal: AbortSignal): (error: Error) => void {
  const quietMs = 60_000;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (signal.aborted) return;
    const isRepeated = performance.now() - loggedAt < quietMs;
    if (!isRepeated) loggedAt = performance.now();
    log[isRepeated ? 'debug' : 'warn']({ error }, 'a hint could not be served; retrying');
  };
}
