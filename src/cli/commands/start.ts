import { allJobs } from '../../../jobs/all-jobs.ts';
import { fillPoolsJob } from '../../../jobs/fill-pools.job.ts';
import { walletNameDefault } from '../../config/wallet-names.ts';
import type { WalletContent } from '../../http/add-sites.ts';
import { createMetrics } from '../../http/metrics/create-metrics.ts';
import { answerWithin } from '../../http/page/cache-for.ts';
import { startHttp } from '../../http/start-http.ts';
import { untilAborted } from '../../kernel/abortable-sleep.ts';
import { systemClock } from '../../kernel/clock.ts';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { redactValues } from '../../kernel/redact.ts';
import { withAnySignal } from '../../kernel/with-any-signal.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { isWritable } from '../../ledger/connection/read-database-facts.ts';
import type { FeedReader } from '../../ledger/feed/feed-reader.ts';
import type { LedgerStatus, Problem } from '../../ledger/reports/ledger-status.ts';
import { readFlows } from '../../ledger/reports/read-flows.ts';
import { releaseAbandonedDetails } from '../../ledger/transactions/detail-checks.ts';
import { markResting } from '../../ledger/wallet-identity.ts';
import type { RepeatableJob } from '../../queue/define-job.ts';
import type { QueueSnapshot } from '../../queue/queue-snapshot.ts';
import { type RunningQueue, startQueue } from '../../queue/start-queue.ts';
import { boundReport } from '../../status/bound-report.ts';
import { queueProblems } from '../../status/list-problems.ts';
import type { CommandContext } from '../context/command-context.ts';
import { type Composed, composeAll } from '../context/compose-sync.ts';
import { createPageReader } from '../context/create-page-reader.ts';
import { openFeed } from '../context/open-feed.ts';
import { openHints } from '../context/open-hints.ts';
import { openIntervals } from '../context/open-intervals.ts';
import { setPools, setStates } from '../context/open-ledger.ts';
import { restingPages } from '../context/resting-pages.ts';
import { describePlace } from '../output/describe-place.ts';
import { startHeartbeat } from '../output/heartbeat.ts';
import { readAllStatus } from '../read-all-status.ts';
import { readVersion } from '../read-version.ts';

/** Grace period for running jobs, within the 25 s that a shutdown may take. */
const queueCloseMs = 15_000;
/** Shorter than /readyz waits, so that /readyz can name the part that does not answer. */
const readyMs = 2_500;
/** Spreads the first runs of the jobs, so that a start causes no burst of requests. */
const offsetStepMs = 250;
/** Time over which the wallets' first runs of a job are spread, so that later ones do not come all at once. */
const spreadMs = 15_000;

/** Runs `wallet-ledger start`: the daemon, which runs the repeatable jobs until it is stopped. */
export async function start(context: CommandContext): Promise<number> {
  const { log, shutdown } = context;
  try {
    const { url } = await startDaemon(context);
    if (url) log.info({ url }, 'status page');
    await untilAborted(shutdown.signal);
  } catch (error) {
    // The daemon was stopped before everything ran, which is no failure either.
    if (!shutdown.signal.aborted || error !== shutdown.signal.reason) throw error;
  }
  return 0;
}

/**
 * Starts everything that runs in a daemon. `url`: address of its status page, null if that is switched off; `feed`: its
 * reader of the change feed.
 */
export async function startDaemon(
  context: CommandContext,
): Promise<{ url: string | null; feed: FeedReader }> {
  const { settings, log, shutdown } = context;
  let queue: RunningQueue | undefined;
  let starting: Promise<RunningQueue> | undefined;
  const complete = completeReport(context, () => queue);
  const report = async () => complete(await readAllStatus(opened.ledger, settings));
  const metrics = createMetrics(report, { version: readVersion() });
  const heartbeat = context.screen.log.isTTY ? startHeartbeat(context) : null;
  const opened = await composeAll(context, (wallet) => ({
    onAttempt: (attempt) => metrics.onAttempt({ wallet, ...attempt }),
    onRun(part, pass) {
      metrics.onRun({ wallet, job: part }, pass);
      heartbeat?.onRun(pass);
    },
    // Before the queue starts, nothing is added: the jobs' first runs are still to come.
    onHealed: () => starting && fillPoolsNow(jobs, starting, log),
  }));
  const { composed } = opened;
  await prepareWallets(opened.ledger, composed);
  const hints = openHints(context, composed);
  const { reader: feed, webhooks } = await openFeed(context, opened.ledger, {
    onHint: hints.wake,
    findProblems: () => problemsOf(context, queue),
    addJob: async (...job) => await queue?.add(...job),
    onAttempt: metrics.onWebhook,
  });
  const { http } = settings;
  const listening =
    http &&
    (await startHttp({
      ...http,
      readStatus: report,
      place: describePlace(context),
      wallets: await pagesOf(context, opened, complete),
      openBoard: (basePath) => queue?.openBoard(basePath) ?? null,
      isReady: () => isReady(opened.ledger, queue),
      metrics: metrics.registry,
      onRefused: metrics.onRefused,
      feed,
      onHint: (orderNos) => metrics.onHint(hints.hint(orderNos)),
      log,
    }));
  if (listening) shutdown.add('status pages', () => listening.close());
  const jobs = repeatableJobs(context, composed);
  const queueName = `${opened.queueAddress.kind} ${settings.queue.prefix}`;
  starting = startQueue({
    backend: opened.queueAddress,
    prefix: settings.queue.prefix,
    jobs,
    onDemand: webhooks.jobs,
    readIntervals: await openIntervals(opened.ledger, queueName, jobs, log),
    log,
    clock: systemClock,
    isTraced: context.isTraced,
  });
  const running = await starting;
  queue = running;
  shutdown.add('queue', () => running.close(queueCloseMs));
  shutdown.add('webhooks', webhooks.start());
  return { url: http && listening ? `http://${http.host}:${listening.port}/` : null, feed };
}

/** Adds a run of each job that fills pools. If that fails, the pools are filled at the job's next time. */
function fillPoolsNow(jobs: RepeatableJob[], starting: Promise<RunningQueue>, log: Log): void {
  const names = jobs.filter(
    ({ name, everyMs }) => everyMs !== null && name.startsWith(fillPoolsJob.name),
  );
  void starting
    .then((queue) =>
      Promise.all(names.map(({ name }) => queue.add(name, `${name}-after-move`, {}))),
    )
    .catch((error: unknown) =>
      log.debug({ error: toError(error) }, 'pools are filled at their next time'),
    );
}

/** Returns a function that adds the queue to a status, if the queue answers, and bounds and redacts the status. */
function completeReport({ redact }: CommandContext, queueOf: () => RunningQueue | undefined) {
  return async (status: LedgerStatus) => {
    const queue = await snapshotOf(queueOf());
    return redactValues(boundReport({ ...status, queue }), redact);
  };
}

/** Redacted, because the problems are stored and may quote the queue. Before the queue is open, none are known. */
async function problemsOf(
  { redact }: CommandContext,
  queue: RunningQueue | undefined,
): Promise<Problem[]> {
  if (!queue) return [];
  return redactValues(queueProblems({ queue: await snapshotOf(queue), problems: [] }), redact);
}

/** Returns null if the queue does not answer, or is not open yet. */
async function snapshotOf(queue: RunningQueue | undefined): Promise<QueueSnapshot | null> {
  return (await queue?.snapshot().catch(() => null)) ?? null;
}

/**
 * Applies the wallets' settings, and frees what ended processes held. All other wallets count as resting from now on.
 */
async function prepareWallets(ledger: Ledger, composed: Composed[]): Promise<void> {
  for (const { context, sync } of composed) {
    await setStates(sync.ledger, context);
    await setPools(sync.ledger, context);
    await releaseAbandonedDetails(sync.ledger.db, sync.ledger.instance);
  }
  const names = composed.map(({ sync }) => sync.ledger.wallet);
  await markResting(ledger.db, names);
}

/** A part that does not answer in time is not ready. Asks both at once, so that one does not hide the other. */
async function isReady(ledger: Ledger, queue: RunningQueue | undefined) {
  const isTrue = (answer: Promise<boolean>) => answerWithin(answer, readyMs).catch(() => false);
  const [database, ofQueue] = await Promise.all([
    isTrue(isWritable(ledger)),
    queue ? isTrue(queue.isReady()) : false,
  ]);
  return { database, queue: ofQueue, migrated: true };
}

/** Returns the contents of the pages of all wallets, those that rest included. */
async function pagesOf(
  context: CommandContext,
  { composed, ledger }: Awaited<ReturnType<typeof composeAll>>,
  complete: ReturnType<typeof completeReport>,
): Promise<WalletContent[]> {
  return [...composed.map(contentOfPages), ...(await restingPages(context, ledger, complete))];
}

/** Returns the content of a wallet's pages: its reports, and the installation that they name. */
function contentOfPages({ context, sync: { ledger } }: Composed): WalletContent {
  return {
    name: ledger.wallet,
    readFlows: () => readFlows(ledger.db),
    read: createPageReader(ledger, context.redact),
    place: describePlace(context, [ledger.wallet]),
  };
}

/** The jobs of all wallets. Those of the wallet `main` have the names of the files in `jobs/`. */
function repeatableJobs({ shutdown }: CommandContext, composed: Composed[]): RepeatableJob[] {
  return composed.flatMap(({ context: { settings }, sync }, place) =>
    allJobs.map((job, index) => {
      const { wallet } = sync.ledger;
      const everyMs = job.everyMs(settings.schedule);
      const spread = (place / composed.length) * Math.min(everyMs ?? 0, spreadMs);
      return {
        name: wallet === walletNameDefault ? job.name : `${job.name}.${wallet}`,
        everyMs,
        offsetMs: index * offsetStepMs + Math.floor(spread),
        async run(signal) {
          await withAnySignal([signal, shutdown.signal], (any) => job.run(sync, any));
        },
      };
    }),
  );
}
