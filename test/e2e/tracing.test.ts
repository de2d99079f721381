import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { compiledProgram } from '../support/bundled-program.ts';
import { closeServer, listen } from '../support/listen.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

type Value = { stringValue?: string; intValue?: number; boolValue?: boolean };
type Attribute = { key: string; value: Value };
type WireSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attribute[];
  events: unknown[];
};
type Payload = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: WireSpan[] }[] }[];
};

type Collector = {
  env: Record<string, string>;
  paths: Set<string>;
  /** Everything that came in, as it came. */
  texts: string[];
  spans(): WireSpan[];
};

/** Starts a server that accepts OTLP over HTTP/JSON, as the collectors of OpenTelemetry do. */
async function startCollector(): Promise<Collector> {
  const texts: string[] = [];
  const paths = new Set<string>();
  const server = createServer((request, response) => {
    paths.add(request.url ?? '');
    void text(request).then((body) => {
      texts.push(`${JSON.stringify(request.headers)}\n${body}`);
      response.setHeader('Content-Type', 'application/json').end('{}');
    });
  });
  const port = await listen(server);
  onTestFinished(() => closeServer(server));
  const payloads = () =>
    texts.map((one) => JSON.parse(one.slice(one.indexOf('\n') + 1)) as Payload);
  return {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_BSP_SCHEDULE_DELAY: '200',
    },
    paths,
    texts,
    spans: () =>
      payloads().flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
      ),
  };
}

function attributesOf(span: WireSpan): Record<string, Value[keyof Value]> {
  return Object.fromEntries(
    span.attributes.map(({ key, value }) => [key, Object.values(value)[0] as Value[keyof Value]]),
  );
}

/** The span's ancestors' names, the nearest first. */
function above(span: WireSpan, spans: WireSpan[]): string[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent ? [parent.name, ...above(parent, spans)] : [];
}

/**
 * Returns the values that must never be exported: credentials, and the identifiers, addresses and amounts of
 * transactions.
 */
function secretsOf({ sandbox, env }: Service): string[] {
  const { apiKey, apiSecret } = sandbox.credentials;
  const rows = sandbox.world.transactions() as unknown as Record<string, unknown>[];
  const values = rows.flatMap((row) =>
    ['orderNo', 'requestId', 'txHash', 'fromAddress', 'toAddress', 'amount', 'fee'].map((name) =>
      String(row[name] ?? ''),
    ),
  );
  expect(new Set(values).size).toBeGreaterThan(rows.length);
  // Short numbers occur in any text.
  return [...new Set([apiKey, apiSecret, String(env['DATABASE_URL']), ...values])].filter(
    (one) => one.length >= 8,
  );
}

/** Has the program write down, at its end, which modules it had loaded. */
function watchModules(): { env: Record<string, string>; loaded(): string[] } {
  const directory = temporaryFolder();
  const script = join(directory, 'watch.cjs');
  const list = join(directory, 'list.json');
  writeFileSync(
    script,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(list)},
       JSON.stringify(Object.keys(require('node:module')._cache))));`,
  );
  return {
    env: { NODE_OPTIONS: `--require ${script}` },
    loaded: () => JSON.parse(readFileSync(list, 'utf8')) as string[],
  };
}

const sdk = /opentelemetry[/\\](sdk-trace|exporter-trace|otlp)|bullmq-otel/;

test('sync sends a span for every part, request and batch, and nothing of the wallet itself', async () => {
  const service = await withService({ transactions: 300 });
  const collector = await startCollector();
  const modules = watchModules();
  const env = { ...service.env, ...collector.env, ...modules.env };
  const ended = await runProgram(['sync'], env, compiledProgram);
  expect(ended.code, ended.stderr).toBe(0);
  expect([...collector.paths]).toEqual(['/v1/traces']);
  const spans = collector.spans();
  const named = (name: string) => spans.filter((span) => span.name === name);

  const [transactions] = named('part transactions');
  expect(transactions && attributesOf(transactions)).toMatchObject({
    'wallet_ledger.rows': 500,
    'wallet_ledger.inserted': 300,
    'wallet_ledger.is_complete': true,
  });
  const pages = named('GET /v1/transaction/list');
  // Before a ledger's first rows it reads coins and balances, which tell their chains.
  expect(attributesOf(transactions as WireSpan)['wallet_ledger.requests']).toBe(pages.length + 2);
  for (const page of pages) {
    expect(above(page, spans)).toEqual(['part transactions']);
    expect(page.kind).toBe(3);
    expect(attributesOf(page)).toEqual({
      'http.request.method': 'GET',
      'url.template': '/v1/transaction/list',
      'http.response.status_code': 200,
      'wallet_ledger.attempt': 1,
      'wallet_ledger.outcome': 'success',
    });
  }
  const details = named('GET /v1/transaction/info');
  expect(details).toHaveLength(300);
  expect(new Set(details.flatMap((span) => above(span, spans)))).toEqual(new Set(['part details']));
  const batches = named('store batch');
  const inserted = (stream: string) =>
    batches
      .map(attributesOf)
      .filter((batch) => batch['wallet_ledger.stream'] === stream)
      .reduce((sum, batch) => sum + Number(batch['wallet_ledger.inserted']), 0);
  expect(inserted('deposit') + inserted('withdraw')).toBe(300);
  expect(new Set(batches.flatMap((batch) => above(batch, spans)))).toEqual(
    new Set(['part transactions', 'part details']),
  );

  const sent = collector.texts.join('\n');
  expect(sent).toContain('"wallet-ledger"');
  expect(secretsOf(service).filter((secret) => sent.includes(secret))).toEqual([]);
  expect(spans.flatMap(({ events }) => events)).toEqual([]);
  expect(modules.loaded().some((path) => sdk.test(path))).toBe(true);
}, 60_000);

test('a request that fails says how, and one that is repeated says so', async () => {
  const service = await withService({ transactions: 20 });
  service.sandbox.faults.next.push('server-error');
  const collector = await startCollector();
  await runProgram(['sync', 'transactions'], { ...service.env, ...collector.env });
  const requests = collector.spans().filter(({ name }) => name.startsWith('GET /v1/'));
  const failed = requests.map(attributesOf).find((one) => one['http.response.status_code'] === 500);
  expect(failed?.['wallet_ledger.outcome']).not.toBe('success');
  expect(requests.some((one) => Number(attributesOf(one)['wallet_ledger.attempt']) > 1)).toBe(true);
}, 60_000);

test('a daemon sends the runs of its jobs, each a trace of its own, and the last ones when it stops', async () => {
  const service = await withService({ transactions: 50 });
  const collector = await startCollector();
  const daemon = startProgram(['start'], {
    ...service.env,
    ...collector.env,
    OTEL_SERVICE_NAME: 'books',
    SYNC_TRANSACTIONS_EVERY: '1s',
  });
  const parts = () => collector.spans().filter(({ name }) => name === 'part transactions');
  await until(async () => parts().length >= 3, 30_000);
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  const spans = collector.spans();
  for (const part of parts()) {
    const [run, ...others] = above(part, spans);
    expect(run).toMatch(/^process /);
    expect(others).toEqual([]);
  }
  expect(new Set(parts().map(({ traceId }) => traceId)).size).toBe(parts().length);
  const sent = collector.texts.join('\n');
  expect(sent).toContain('"books"');
  expect(secretsOf(service).filter((secret) => sent.includes(secret))).toEqual([]);
}, 60_000);

test('without the variables nothing of it is loaded, and switched off nothing is sent', async () => {
  const service = await withService({ transactions: 10 });
  const collector = await startCollector();
  for (const env of [{}, { ...collector.env, OTEL_SDK_DISABLED: 'true' }]) {
    const modules = watchModules();
    const all = { ...service.env, ...env, ...modules.env };
    const ended = await runProgram(['sync'], all, compiledProgram);
    expect(ended.code).toBe(0);
    expect(modules.loaded().length).toBeGreaterThan(100);
    expect(modules.loaded().filter((path) => sdk.test(path))).toEqual([]);
  }
  expect(collector.texts).toEqual([]);
}, 60_000);

test('a collector that is not there costs the ledger nothing', async () => {
  const service = await withService({ transactions: 10 });
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const startedAt = Date.now();
  const ended = await runProgram(['sync'], { ...service.env, ...endpoint });
  expect(ended.code, ended.stderr).toBe(0);
  expect(Date.now() - startedAt).toBeLessThan(20_000);
}, 60_000);
