import type { WalletContent } from '../../src/http/add-sites.ts';
import { createMetrics, type Metrics } from '../../src/http/metrics/create-metrics.ts';
import { type HttpOptions, startHttp } from '../../src/http/start-http.ts';
import { type LogLine, recordLog } from './record-log.ts';
import { sampleFlows, sampleReport } from './sample-report.ts';

export type HttpHarness = {
  url: string;
  metrics: Metrics;
  lines: LogLine[];
  /** Numbers of reads of the status for pages and for scrapes, and of reads of the flows. */
  reads: { page: number; metrics: number; flows: number };
  close(): Promise<void>;
};

const place = {
  environment: 'test',
  wallet: 'main',
  service: 'wallet.example',
  database: 'db:5432/ledger',
  version: '1.2.3',
  daemon: 'host-a, process 17',
};

const noFeed: HttpOptions['feed'] = {
  read: async () => ({ kind: 'events', events: [] }),
  head: async () => 0,
  nextWake: () => new Promise(() => undefined),
  wake: () => undefined,
};

type Options = Partial<HttpOptions> & Partial<Pick<WalletContent, 'read' | 'readFlows'>>;

/** Status pages on a free port of the loopback; those of the wallet `main` unless `wallets` are given. */
export async function openHttp({
  read,
  readFlows,
  ...options
}: Options = {}): Promise<HttpHarness> {
  const { log, lines } = recordLog();
  const reads = { page: 0, metrics: 0, flows: 0 };
  const readStatus = options.readStatus ?? (async () => sampleReport());
  const countedFor = (reader: 'page' | 'metrics') => () => {
    reads[reader] += 1;
    return readStatus();
  };
  const metrics = createMetrics(countedFor('metrics'), { version: '1.2.3' });
  const server = await startHttp({
    host: '127.0.0.1',
    port: 0,
    token: null,
    hintToken: null,
    feedToken: null,
    feed: noFeed,
    onHint: () => undefined,
    place,
    wallets: [
      {
        name: 'main',
        place,
        read: read ?? (() => Promise.reject(new Error('no database'))),
        readFlows:
          readFlows ??
          (async () => {
            reads.flows += 1;
            return sampleFlows();
          }),
      },
    ],
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
