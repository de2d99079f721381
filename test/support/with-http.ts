import { createMetrics, type Metrics } from '../../src/http/create-metrics.ts';
import { type HttpOptions, startHttp } from '../../src/http/start-http.ts';
import { type LogLine, recordLog } from './record-log.ts';
import { sampleFlows, sampleReport } from './sample-report.ts';

export type HttpHarness = {
  url: string;
  metrics: Metrics;
  lines: LogLine[];
  /** How often a page, and how often a scrape, had the status read. */
  reads: { page: number; metrics: number; flows: number };
  close(): Promise<void>;
};

const noFeed: HttpOptions['feed'] = {
  read: async () => ({ kind: 'events', events: [] }),
  head: async () => 0,
  nextWake: () => new Promise(() => undefined),
  wake: () => undefined,
};

/** Status pages on a free port of the loopback. */
export async function openHttp(options: Partial<HttpOptions> = {}): Promise<HttpHarness> {
  const { log, lines } = recordLog();
  const reads = { page: 0, metrics: 0, flows: 0 };
  const readStatus = options.readStatus ?? (async () => sampleReport());
  const countedFor = (reader: 'page' | 'metrics') => () => {
    reads[reader] += 1;
    return readStatus();
  };
  const metrics = createMetrics(countedFor('metrics'));
  const server = await startHttp({
    host: '127.0.0.1',
    port: 0,
    token: null,
    hintToken: null,
    feedToken: null,
    feed: noFeed,
    onHint: () => undefined,
    readFlows: async () => {
      reads.flows += 1;
      return sampleFlows();
    },
    read: () => Promise.reject(new Error('no database')),
    place: {
      wallet: 'main',
      service: 'wallet.example',
      database: 'db:5432/ledger',
      version: '1.2.3',
    },
    openBoard: () => null,
    isReady: async () => ({ database: true, queue: true, migrated: true }),
    metrics: metrics.registry,
    onRefused: metrics.onRefused,
    log,
    ...options,
    readStatus: countedFor('page'),
  });
  const url = `http://127.0.0.1:${server.port}`;
  return { url, metrics, lines, reads, close: server.close };
}
