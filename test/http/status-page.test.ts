import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { renderStatus } from '../../src/http/status-page.ts';
import type { StatusReport } from '../../src/http/status-report.ts';
import { samplePool, sampleReport, sampleStream } from './sample-report.ts';
import { openHttp } from './with-http.ts';

async function pageOf(report: StatusReport): Promise<string> {
  return String(await renderStatus(report));
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
      streams: [sampleStream({ ledgerCount: 5_000, isComplete: false, lastError: 'HTTP 500' })],
      pools: [samplePool({ available: 10, daysLeft: 1.5 })],
      unexpectedDeposits: { foreign: 2, unknown: 0 },
      rejects: 2,
    }),
  );
  expect(page).toContain('12 of 5,012 rows are missing');
  expect(page).toContain('deposit: HTTP 500');
  expect(page).toContain('wallet-ledger pool refill 60');
  expect(page).toContain('lasts 1.5 days');
  expect(page).toContain('2 foreign, 0 unknown');
  expect(page).toContain('rejects retry');
});

test('hostile text of the service stays text', async () => {
  const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>&lt;\u202e`;
  const page = await pageOf(
    sampleReport({
      streams: [sampleStream({ name: evil, listOrder: evil, lastError: evil })],
      balances: [{ symbol: evil, chain: evil, balance: evil, frozen: evil, history: [] }],
      lastRuns: sampleReport().lastRuns.map((run) => ({ ...run, job: evil, outcome: evil })),
      lastErrors: [{ job: evil, at: evil, message: evil }],
    }),
  );
  expect(page).not.toContain('<script');
  expect(page).not.toContain('<img');
  expect(page).not.toMatch(/"'>/);
  expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;&lt;img');
  expect(page).toContain('&amp;lt;');
});

test('endless text of the service is cut', async () => {
  const page = await pageOf(
    sampleReport({ streams: [sampleStream({ lastError: 'x'.repeat(1_000_000) })] }),
  );
  expect(page.length).toBeLessThan(50_000);
});

test('the page loads nothing and runs nothing, and its style is the one the policy allows', async () => {
  const http = await openHttp();
  const response = await fetch(http.url);
  const page = await response.text();
  await http.close();
  const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] ?? '';
  const digest = createHash('sha256').update(style).digest('base64');
  expect(response.headers.get('Content-Security-Policy')).toContain(`style-src 'sha256-${digest}'`);
  expect(page).not.toMatch(/<script|<link|<img|<iframe|\sstyle=|\son\w+=|https?:\/\//);
});

test('the page can be read by machines that read it aloud', async () => {
  const page = await pageOf(sampleReport());
  expect(page).toContain('<html lang="en">');
  for (const landmark of ['header', 'main', 'footer']) expect(page).toContain(`<${landmark}>`);
  expect(page.match(/<h1>/g)).toHaveLength(1);
  expect(page.match(/<caption>/g)).toHaveLength(page.match(/<table>/g)?.length ?? 0);
  for (const [, id] of page.matchAll(/aria-labelledby="(\w+)"/g)) {
    expect(page).toContain(`id="${id}"`);
  }
  expect(page).toMatch(/<svg role="img" aria-label="1 changes? since 2026-02-27 12:00:00 UTC"/);
});

test('an empty ledger has a page too', async () => {
  const page = await pageOf(
    sampleReport({
      streams: [],
      pools: [],
      balances: [],
      lastRuns: [],
      transactions: { total: 0, incomplete: 0, final: 0 },
      queue: null,
    }),
  );
  expect(page).toContain('nothing has been read from the service yet');
  expect(page).toContain('the queue does not answer');
});
