import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { renderDocument } from '../../src/http/page/page-frame.ts';
import { renderStatus } from '../../src/http/status-page/status-page.ts';
import type { Problem } from '../../src/ledger/reports/ledger-status.ts';
import type { DailyFlows } from '../../src/ledger/reports/read-flows.ts';
import { boundReport } from '../../src/status/bound-report.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import {
  sampleCoverage,
  sampleFlows,
  samplePool,
  sampleProblem,
  sampleReport,
  sampleStream,
  sampleWebhook,
} from '../support/sample-report.ts';
import { openHttp } from '../support/with-http.ts';

async function pageOf(
  report: StatusReport,
  flows: DailyFlows | null = sampleFlows(),
): Promise<string> {
  return String(await renderDocument(await renderStatus(report, flows), ''));
}

test('the proof stands there in words', async () => {
  const page = await pageOf(sampleReport());
  expect(page).toContain('service says 5,012 · ledger holds 5,012 · proven complete');
  expect(page).toContain('All is well');
  expect(page).not.toContain('Needs attention');
});

test('what is wrong comes with what to do', async () => {
  const page = await pageOf(
    sampleReport({
      problems: [
        sampleProblem({
          name: 'pool_empty',
          severity: 'critical',
          what: 'the address pool of chain 60 is empty',
          cure: 'run `wallet-ledger pool refill 60`',
        }),
        sampleProblem(),
      ],
      streams: [
        sampleStream({
          ledgerCount: 5_000,
          isComplete: false,
          notCompleteBecause: '12 of 5012 rows are missing',
        }),
      ],
      feed: [
        sampleWebhook({ lastError: 'it answered <500>' }),
        sampleWebhook({ name: 'crm', state: 'unset', lastError: null }),
      ],
      pools: [samplePool({ available: 10, daysLeft: 1.5 })],
      unexpectedDeposits: { foreign: 2, unknown: 0 },
      rejects: 2,
    }),
  );
  expect(page).toContain('<title>wallet-ledger: 1 critical problem and 1 warning</title>');
  expect(page).toContain('ledger holds 5,000 · not proven: 12 of 5012 rows are missing');
  expect(page).toContain('wallet-ledger pool refill 60');
  expect(page).toContain(
    'since <time datetime="2026-03-01T11:00:00Z">2026-03-01 11:00:00 UTC</time>',
  );
  expect(page).toContain('failing: <bdi>it answered &lt;500&gt;</bdi>');
  expect(page).toContain('<td class="">unset: <bdi>no daemon has it in FEED_WEBHOOKS any more;');
  expect(page).toContain('lasts 1.5 days');
  expect(page).toContain('2 foreign, 0 unknown');
  expect(page).toContain('rejects retry');
});

test('amounts are short with the exact ones at hand, and chains are named', async () => {
  const [balance] = sampleReport().balances;
  if (!balance) throw new Error('the sample has a balance');
  const page = await pageOf(
    sampleReport({
      balances: [{ ...balance, balance: '1234567.123456789012345678' }],
      pools: [samplePool(), samplePool({ slip44: 195, chain: null })],
    }),
  );
  expect(page).toContain(
    'title="1234567.123456789012345678">1,234,567<span class="decimals">.12345678…</span>',
  );
  expect(page).toContain('<h3><bdi>Ethereum</bdi> (60)</h3>');
  expect(page).toContain('<h3>Chain 195</h3>');
});

test('hostile text of the service stays text', async () => {
  const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>&lt;\u202e`;
  const page = await pageOf(
    sampleReport({
      problems: [sampleProblem({ name: evil, what: evil, cure: evil })],
      streams: [sampleStream({ name: evil, listOrder: evil, lastError: evil })],
      coverage: [sampleCoverage({ stream: evil })],
      balances: [
        { wallet: 'main', symbol: evil, chain: evil, balance: evil, frozen: evil, history: [] },
      ],
      lastRuns: sampleReport().lastRuns.map((run) => ({ ...run, job: evil, outcome: evil })),
      lastErrors: [{ wallet: 'main', job: evil, at: evil, message: evil }],
    }),
    sampleFlows({ coins: sampleFlows().coins.map((coin) => ({ ...coin, symbol: evil })) }),
  );
  expect(page.match(/<script[^>]*>/g)).toEqual(['<script src="status.js" defer>']);
  expect(page).not.toContain('<img');
  expect(page).not.toMatch(/"'>/);
  expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;&lt;img');
  expect(page).toContain('&amp;lt;');
});

test('endless text of the service is cut', async () => {
  const page = await pageOf(
    sampleReport({ problems: [sampleProblem({ what: 'x'.repeat(1_000_000) })] }),
  );
  expect(page.length).toBeLessThan(50_000);
});

test('a cure is shown whole', async () => {
  const cure = `\`select ${'o.order_no, '.repeat(60)}1\` names them; correct the books`;
  const page = await pageOf(boundReport(sampleReport({ problems: [sampleProblem({ cure })] })));
  expect(page).toContain('1</code> names them; correct the books</bdi>');
});

test('the page loads its own script and nothing else, and its style is the one the policy allows', async () => {
  const http = await openHttp();
  const response = await fetch(http.url);
  const page = await response.text();
  const script = await fetch(`${http.url}/status.js`);
  await http.close();
  expect(script.headers.get('Content-Type')).toMatch(/^text\/javascript/);
  const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] ?? '';
  const digest = createHash('sha256').update(style).digest('base64');
  expect(response.headers.get('Content-Security-Policy')).toContain(`style-src 'sha256-${digest}'`);
  expect([...page.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, target]) => target)).toEqual([
    'data:,',
    'status.js',
    '#main',
    'transactions',
    'coins',
    'pools',
    'proof',
    'rejects',
    'runs',
    'problems',
    'queues',
    'metrics',
    'coins/BTC',
    'coins/BTC',
    'pools',
    'runs',
  ]);
  expect(page).not.toMatch(/<img|<iframe|\sstyle=|\son\w+=|https?:\/\//);
});

test('the page can be read by machines that read it aloud', async () => {
  const page = await pageOf(sampleReport());
  expect(page).toContain('<html lang="en">');
  for (const landmark of ['header', 'main', 'footer']) expect(page).toContain(`<${landmark}`);
  expect(page.match(/<h1>/g)).toHaveLength(1);
  expect(page.match(/<caption>/g)).toHaveLength(page.match(/<table>/g)?.length ?? 0);
  expect(page.match(/aria-live/g)).toHaveLength(1);
  for (const [, id] of page.matchAll(/aria-labelledby="(\w+)"/g)) {
    expect(page).toContain(`id="${id}"`);
  }
  for (const [drawing] of page.matchAll(/<svg[^>]*>/g)) {
    expect(drawing).toMatch(/aria-hidden="true"|role="img" aria-label="[^"]+"/);
  }
  expect(page).toContain('BTC: 1 change since 2026-02-27 12:00:00 UTC, now 1.50');
});

test('each drawing has its numbers in a table', async () => {
  const page = await pageOf(sampleReport());
  expect(page).toContain('2026-03-01</th>\n<td class="number">1,300</td><td class="number">7</td>');
  const cell = (exact: string, shown: string) =>
    `<td class="number"><data value="${exact}" title="${exact}">${shown.replace('.', '<span class="decimals">.')}</span></data></td>`;
  expect(page).toContain(`2026-03-01</th>${cell('0.5', '0.5')}${cell('0.1', '0.1')}`);
  expect(page).toContain(`${cell('1.50', '1.5')}<td><time datetime="2026-02-28T12:00:00Z">`);
});

test('drawings are made of finite numbers, whatever the amounts', async () => {
  const daily = Array.from({ length: 30 }, (_, index) => `${index}${'9'.repeat(400)}`);
  const amounts = { total: daily[0] ?? '', daily };
  const history = ['1', '9'.repeat(400), '-5', null].map((balance, index) => ({
    at: `2026-02-0${index + 1}T00:00:00Z`,
    balance,
  }));
  const page = await pageOf(
    sampleReport({
      balances: sampleReport().balances.map((balance) => ({ ...balance, history })),
      pools: [samplePool({ available: 500, target: 0 })],
    }),
    sampleFlows({ coins: [{ symbol: 'X', deposit: amounts, withdraw: amounts }] }),
  );
  const drawn = [...page.matchAll(/\s(?:d|x|y|width|height|y1|y2)="([^"]*)"/g)].join(' ');
  expect(drawn).not.toMatch(/NaN|Infinity/);
});

test('the calendar says of each day how many rows it has and when it was last verified, without a script', async () => {
  const page = await pageOf(sampleReport({ coverage: [sampleCoverage()] }));
  expect(page).toContain('<title>2026-03-01: 99 rows, verified 2026-02-27 00:00 UTC</title>');
  expect(page).toContain('<title>2026-02-20: 90 rows, never verified</title>');
  expect(page.match(/<rect class="v[1-5]" x=/g)).toHaveLength(100);
  expect(page).toContain(
    'verified through 2026-02-27 00:00:00 UTC, 2 days ago · 12 days never verified',
  );
  expect(page).toContain('older: 300 days with 12,345 rows');
  expect(page).toContain('10 of 100 days with rows never verified');
  expect(page).toMatch(/2026-02<\/th><td class="number">28<\/td>\s*<td class="number">2,366<\/td>/);
});

test('a calendar of a whole year fits 53 or 54 weeks, each day at a place of its own', async () => {
  const days = Array.from({ length: 366 }, (_, index) => ({
    day: new Date(Date.UTC(2026, 2, 1 - 365 + index)).toISOString().slice(0, 10),
    transactions: 1,
    verifiedAt: '2026-03-01T11:00:00Z',
  }));
  const page = await pageOf(sampleReport({ coverage: [sampleCoverage({ days })] }));
  const places = [...page.matchAll(/<rect class="v1" x="(\d+)" y="(\d+)">/g)].map(
    ([, x, y]) => `${x},${y}`,
  );
  expect(new Set(places).size).toBe(366);
  // The first of March 2026 is a Sunday: the last place of its week.
  expect(places.at(-1)).toBe('624,86');
  expect(page).toMatch(/viewBox="0 0 636 98"/);
});

test('the words of the verdict count critical problems and warnings', async () => {
  const critical = sampleProblem({ name: 'pool_empty', severity: 'critical' });
  const title = async (problems: Problem[]) =>
    /<title>(.*?)<\/title>/.exec(await pageOf(sampleReport({ problems })))?.[1];
  expect(await title([])).toBe('wallet-ledger: all is well');
  expect(await title([sampleProblem()])).toBe('wallet-ledger: 1 warning');
  expect(await title([critical, critical])).toBe('wallet-ledger: 2 critical problems');
  expect(await title([sampleProblem(), critical, sampleProblem()])).toBe(
    'wallet-ledger: 1 critical problem and 2 warnings',
  );
});

test('without flows the rest is there', async () => {
  expect(await pageOf(sampleReport(), null)).toContain('cannot be read at the moment');
  const none = sampleFlows().days.map(() => 0);
  const still = sampleFlows({ deposits: none, withdrawals: none, coins: [] });
  expect(await pageOf(sampleReport(), still)).toContain('No deposit and no withdrawal');
});

test('an empty ledger has a page too', async () => {
  const page = await pageOf(
    sampleReport({
      streams: [],
      pools: [],
      balances: [],
      lastRuns: [],
      transactions: { total: 0, incomplete: 0, final: 0, detailsToFetch: 0, detailsRefused: 0 },
      queue: null,
    }),
  );
  expect(page).toContain('Nothing read yet');
  expect(page).toContain('the queue does not answer');
});
