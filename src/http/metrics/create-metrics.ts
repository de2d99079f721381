import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { StatusReport } from '../../status/status-report.ts';
import type { Refusal } from '../access/admit-request.ts';
import { answerWithin, cacheFor } from '../page/cache-for.ts';
import { statusGauges } from './status-gauges.ts';

export type Metrics = {
  registry: Registry;
  /** Callback for the service client's option `onAttempt`. */
  onAttempt(attempt: { wallet: string; endpoint: string; outcome: string; seconds: number }): void;
  /** Callback for each finished run of a wallet's job. */
  onRun(
    of: { wallet: string; job: string },
    run: { rowsInserted: number; rowsUpdated: number },
  ): void;
  /** Callback for the status pages' option `onRefused`. */
  onRefused(reason: Refusal): void;
  /** Callback for each attempt to send an event to a webhook. */
  onWebhook(receiver: string, outcome: 'accepted' | 'refused' | 'gone'): void;
  /** Callback for each hint. `accepted`: it is passed on; `coalesced`: it joined one that waits for that. */
  onHint(outcome: 'accepted' | 'coalesced'): void;
};

const keepMs = 1_000;
/** Time to read the status for one scrape. Prometheus ends a scrape after 10 s and then counts the daemon as down. */
const statusMs = 5_000;
/** Interval at which prom-client samples the event loop. The default would wake an idle process 100 times a second. */
const loopSampleMs = 60_000;
const loopSamples = /^nodejs_eventloop_lag_.+_seconds$/;

/**
 * Creates the process's counters, and gauges that are read from the status with each scrape. While the status cannot be
 * read, `wallet_ledger_up` is 0 and the other gauges of the status are absent, so no scrape shows old values.
 */
export function createMetrics(
  readStatus: () => Promise<StatusReport>,
  { version }: { version: string },
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  registerBuild(registry, version);
  collectProcessMetrics(registry);
  registerStatusGauges(registry, readStatus);
  const requests = new Counter({
    name: 'wallet_ledger_service_requests_total',
    help: 'Requests sent to the wallet service, by outcome: success, interrupted, unreachable, rate-limited, authentication, nonce (overtaken by another request), refused, unsettled (a code other than 0), malformed',
    labelNames: ['endpoint', 'outcome', 'wallet'],
    registers,
  });
  const seconds = new Histogram({
    name: 'wallet_ledger_service_request_duration_seconds',
    help: 'Duration of requests to the wallet service',
    labelNames: ['endpoint', 'wallet'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const rows = new Counter({
    name: 'wallet_ledger_rows_written_total',
    help: 'Rows written to the ledger by this process',
    labelNames: ['job', 'kind', 'wallet'],
    registers,
  });
  const refused = new Counter({
    name: 'wallet_ledger_http_refused_total',
    help: 'Requests and connections to the status pages that were refused, by reason',
    labelNames: ['reason'],
    registers,
  });
  const hints = new Counter({
    name: 'wallet_ledger_hints_total',
    help: 'Hints received over HTTP: passed on to the daemons (accepted), or merged into a waiting hint (coalesced)',
    labelNames: ['outcome'],
    registers,
  });
  const webhooks = new Counter({
    name: 'wallet_ledger_webhook_attempts_total',
    help: 'Attempts of this process to send an event to a webhook: accepted, refused (or not reached), gone (410)',
    labelNames: ['receiver', 'outcome'],
    registers,
  });
  return {
    registry,
    onWebhook: (receiver, outcome) => webhooks.inc({ receiver, outcome }),
    onRefused: (reason) => refused.inc({ reason }),
    onHint: (outcome) => hints.inc({ outcome }),
    onAttempt({ wallet, endpoint, outcome, ...attempt }) {
      requests.inc({ endpoint, outcome, wallet });
      seconds.observe({ endpoint, wallet }, attempt.seconds);
    },
    onRun({ wallet, job }, { rowsInserted, rowsUpdated }) {
      rows.inc({ job, kind: 'inserted', wallet }, rowsInserted);
      rows.inc({ job, kind: 'updated', wallet }, rowsUpdated);
    },
  };
}

/** Reports the running version as a label, as other exporters do. */
function registerBuild(registry: Registry, version: string): void {
  const build = new Gauge({
    name: 'wallet_ledger_build_info',
    help: '1; the labels are the versions of the program and of Node',
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  build.set({ version, node: process.version }, 1);
}

function registerStatusGauges(registry: Registry, readStatus: () => Promise<StatusReport>): void {
  const registers = [registry];
  const shared = cacheFor(readStatus, keepMs);
  const statusOrNull = () => answerWithin(shared(), statusMs).catch(() => null);
  new Gauge({
    name: 'wallet_ledger_up',
    help: '1 if the status could be read from database and queue, else 0',
    registers,
    async collect() {
      this.set((await statusOrNull())?.queue ? 1 : 0);
    },
  });
  for (const { name, help, labelNames = [], samples } of statusGauges) {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        const status = await statusOrNull();
        this.reset();
        // A reset gauge without labels would report 0, which would be a false value.
        if (labelNames.length === 0) this.remove();
        for (const { labels, value } of status ? samples(status) : []) this.set(labels, value);
      },
    });
  }
}

/**
 * Collects prom-client's default metrics. Removes the statistics of the event loop lag, which have too few samples to
 * be useful; the lag at each scrape stays.
 */
function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopSampleMs });
  for (const { name } of registry.getMetricsAsArray()) {
    if (loopSamples.test(name)) registry.removeSingleMetric(name);
  }
}
