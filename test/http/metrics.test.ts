import { Registry } from 'prom-client';
import { afterEach, expect, test, vi } from 'vitest';
import {
  samplePool,
  sampleProblem,
  sampleReport,
  sampleStream,
  sampleWebhook,
} from '../support/sample-report.ts';
import { type HttpHarness, openHttp } from '../support/with-http.ts';

let http: HttpHarness | undefined;
afterEach(() => http?.close());

type Scrape = { samples: Map<string, number>; types: Map<string, string> };

/** Reads the Prometheus text format strictly: every line is a comment, or a sample of a declared metric. */
async function scrape(url: string): Promise<Scrape> {
  const response = await fetch(`${url}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get('Content-Type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const samples = new Map<string, number>();
  const types = new Map<string, string>();
  for (const line of (await response.text()).split('\n')) {
    const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (type) types.set(name, type);
    if (line === '' || line.startsWith('# ')) continue;
    const sample = /^([a-zA-Z_]\w*)(\{.*\})? (\S+)$/.exec(line);
    expect(sample, line).not.toBeNull();
    const base = sample?.[1]?.replace(/_(bucket|sum|count)$/, '') ?? '';
    expect(types.has(base) || types.has(sample?.[1] ?? ''), line).toBe(true);
    samples.set(`${sample?.[1]}${sample?.[2] ?? ''}`, Number(sample?.[3]));
  }
  return { samples, types };
}

test('requests, rows and the status are exported under their names', async () => {
  const coin = { wallet: 'main', symbol: 'USDT', history: [] };
  http = await openHttp({
    readStatus: async () =>
      sampleReport({
        streams: [
          sampleStream(),
          sampleStream({
            name: 'addresses:60',
            serviceTotal: null,
            isComplete: false,
            lagSeconds: null,
            verifiedThrough: null,
          }),
        ],
        problems: [
          sampleProblem(),
          sampleProblem({ since: null }),
          sampleProblem({ name: 'pool_empty', severity: 'critical', wallet: 'main' }),
        ],
        rejects: 4,
        feed: [
          sampleWebhook(),
          sampleWebhook({ name: 'books', kind: 'consumer', state: 'reading' }),
          sampleWebhook({ name: 'resting', state: 'unset' }),
        ],
        unexplainedDifferences: [
          { wallet: 'main', symbol: 'BTC', amount: '-0.5', since: '2026-03-01T11:00:00Z' },
        ],
        pools: [samplePool({ daysLeft: 2.5 }), samplePool({ slip44: 195 })],
        unexpectedDeposits: { foreign: 3, unknown: 5 },
        balances: [
          { ...coin, chain: 'Tron', balance: '1250.50', frozen: '10' },
          { ...coin, chain: 'Ethereum', balance: null, frozen: null },
          // Another contract, and another chain of the same name.
          { ...coin, chain: 'Base', balance: '1000.25', frozen: null },
          { ...coin, chain: 'Base', balance: '55.5', frozen: '2' },
          { ...coin, chain: 'Base', balance: '11', frozen: '3' },
        ],
      }),
  });
  const { onAttempt, onRun, onWebhook } = http.metrics;
  onWebhook('shop', 'refused');
  onAttempt({ wallet: 'main', endpoint: '/v1/transaction/list', outcome: 'success', seconds: 0.2 });
  onAttempt({
    wallet: 'main',
    endpoint: '/v1/transaction/list',
    outcome: 'rate-limited',
    seconds: 0.1,
  });
  onRun({ wallet: 'main', job: 'transactions' }, { rowsInserted: 7, rowsUpdated: 2 });
  const { samples, types } = await scrape(http.url);
  const expected = {
    'wallet_ledger_service_requests_total{endpoint="/v1/transaction/list",outcome="success",wallet="main"}': 1,
    'wallet_ledger_service_requests_total{endpoint="/v1/transaction/list",outcome="rate-limited",wallet="main"}': 1,
    'wallet_ledger_service_request_duration_seconds_count{endpoint="/v1/transaction/list",wallet="main"}': 2,
    'wallet_ledger_rows_written_total{job="transactions",kind="inserted",wallet="main"}': 7,
    'wallet_ledger_rows_written_total{job="transactions",kind="updated",wallet="main"}': 2,
    'wallet_ledger_stream_lag_seconds{stream="deposit",wallet="main"}': 3,
    'wallet_ledger_stream_complete{stream="deposit",wallet="main"}': 1,
    'wallet_ledger_stream_complete{stream="addresses:60",wallet="main"}': 0,
    'wallet_ledger_stream_service_rows{stream="deposit",wallet="main"}': 5_012,
    'wallet_ledger_stream_ledger_rows{stream="deposit",wallet="main"}': 5_012,
    'wallet_ledger_problem{name="rejects_open",severity="warning",wallet=""}': 1,
    'wallet_ledger_problem{name="pool_empty",severity="critical",wallet="main"}': 1,
    'wallet_ledger_stream_verified_age_seconds{stream="deposit",wallet="main"}': 216_000,
    'wallet_ledger_transactions{wallet="main"}': 10_024,
    'wallet_ledger_incomplete_transactions{wallet="main"}': 3,
    'wallet_ledger_refused_details{wallet="main"}': 0,
    'wallet_ledger_rejects_open{wallet="main"}': 4,
    'wallet_ledger_pool_available{slip44="60",wallet="main"}': 80,
    'wallet_ledger_pool_days_left{slip44="60",wallet="main"}': 2.5,
    'wallet_ledger_unexpected_deposits{kind="foreign",wallet="main"}': 3,
    'wallet_ledger_unexpected_deposits{kind="unknown",wallet="main"}': 5,
    'wallet_ledger_unexplained_difference{symbol="BTC",wallet="main"}': -0.5,
    'wallet_ledger_queue_jobs{state="waiting"}': 1,
    'wallet_ledger_queue_jobs{state="active"}': 2,
    'wallet_ledger_queue_jobs{state="failed"}': 0,
    'wallet_ledger_feed_lag_events{consumer="shop",kind="webhook"}': 3,
    'wallet_ledger_feed_lag_seconds{consumer="shop",kind="webhook"}': 720,
    'wallet_ledger_feed_failing{consumer="shop",kind="webhook"}': 1,
    'wallet_ledger_feed_failing{consumer="books",kind="consumer"}': 0,
    'wallet_ledger_feed_failing{consumer="resting",kind="webhook"}': undefined,
    'wallet_ledger_feed_lag_events{consumer="resting",kind="webhook"}': undefined,
    'wallet_ledger_webhook_attempts_total{receiver="shop",outcome="refused"}': 1,
    [`wallet_ledger_build_info{version="1.2.3",node="${process.version}"}`]: 1,
    'wallet_ledger_stream_last_success_timestamp_seconds{stream="deposit",wallet="main"}':
      Date.parse(sampleReport().readAt) / 1_000 - 3,
    'wallet_ledger_balance{symbol="USDT",chain="Tron",wallet="main"}': 1_250.5,
    'wallet_ledger_balance_frozen{symbol="USDT",chain="Tron",wallet="main"}': 10,
    'wallet_ledger_balance{symbol="USDT",chain="Base",wallet="main"}': 1_066.75,
    'wallet_ledger_balance_frozen{symbol="USDT",chain="Base",wallet="main"}': 5,
    wallet_ledger_up: 1,
  };
  for (const [name, value] of Object.entries(expected))
    expect([name, samples.get(name)]).toEqual([name, value]);
  expect(samples.has('wallet_ledger_stream_lag_seconds{stream="addresses:60",wallet="main"}')).toBe(
    false,
  );
  expect(
    samples.has('wallet_ledger_stream_verified_age_seconds{stream="addresses:60",wallet="main"}'),
  ).toBe(false);
  expect(samples.has('wallet_ledger_pool_days_left{slip44="195",wallet="main"}')).toBe(false);
  const money = [...samples.keys()].filter((name) => name.startsWith('wallet_ledger_balance{'));
  expect(money).toHaveLength(2);
  expect(types.get('wallet_ledger_service_request_duration_seconds')).toBe('histogram');
  expect(types.has('process_cpu_seconds_total')).toBe(true);
});

test('a removed stream, or a status that cannot be read, leaves no old gauges', async () => {
  let answer: () => Promise<ReturnType<typeof sampleReport>> = async () => sampleReport();
  http = await openHttp({ readStatus: () => answer() });
  const { url } = http;
  await scrape(url);
  answer = () => Promise.reject(new Error('gone'));
  await expect
    .poll(async () => (await scrape(url)).samples.get('wallet_ledger_up'), { timeout: 60_000 })
    .toBe(0);
  const { samples } = await scrape(url);
  const left = [...samples.keys()].filter((name) => name.startsWith('wallet_ledger_'));
  expect(left.map((name) => name.replace(/\{.*/, ''))).toEqual([
    'wallet_ledger_build_info',
    'wallet_ledger_up',
  ]);
});

test('a database that hangs sets wallet_ledger_up before Prometheus ends the scrape after 10 s', async () => {
  http = await openHttp({ readStatus: () => new Promise(() => {}) });
  const startedAt = performance.now();
  const { samples } = await scrape(http.url);
  expect(samples.get('wallet_ledger_up')).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(8_000);
}, 20_000);

test('a queue that does not answer sets wallet_ledger_up, and the gauges of the database stay', async () => {
  http = await openHttp({ readStatus: () => Promise.resolve(sampleReport({ queue: null })) });
  const { samples } = await scrape(http.url);
  expect(samples.get('wallet_ledger_up')).toBe(0);
  expect(samples.get('wallet_ledger_transactions{wallet="main"}')).toBe(10_024);
  expect([...samples.keys()].filter((name) => name.includes('queue_jobs'))).toEqual([]);
});

test('a scrape reads the status once for all gauges', async () => {
  http = await openHttp();
  await Promise.all([scrape(http.url), scrape(http.url), scrape(http.url)]);
  expect(http.reads).toEqual({ page: 0, metrics: 1, flows: 0 });
});

test('scrapes of one moment share one text', async () => {
  const registry = new Registry();
  const told = vi.spyOn(registry, 'metrics');
  http = await openHttp({ metrics: registry });
  const { url } = http;
  await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}/metrics`)));
  expect(told.mock.calls.length).toBeLessThanOrEqual(2);
});
