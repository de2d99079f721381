import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { readFlows } from '../../src/ledger/reports/read-flows.ts';
import { readStatus } from '../../src/ledger/reports/read-status.ts';
import { startQueue } from '../../src/queue/start-queue.ts';
import { chromiumProgram, openChromium } from '../support/open-chromium.ts';
import { recordLog } from '../support/record-log.ts';
import {
  sampleCoverage,
  sampleFlows,
  samplePool,
  sampleProblem,
  sampleReport,
  sampleStream,
} from '../support/sample-report.ts';
import { openTestBackend } from '../support/test-backends.ts';
import { faultsOf, visiting } from '../support/visit-page.ts';
import { openHttp } from '../support/with-http.ts';
import { withLedger } from '../support/with-ledger.ts';

const program = chromiumProgram();
const chromium = program ? await openChromium(program) : undefined;
const visit = visiting(chromium);
const database = chromium ? await withLedger() : undefined;
afterAll(() => chromium?.close());

async function serve(options: Parameters<typeof openHttp>[0] = {}): Promise<string> {
  const http = await openHttp({ liveEveryMs: 250, ...options });
  onTestFinished(() => http.close());
  return http.url;
}

/** A report with something in every part, and much of it. */
function busyReport() {
  return sampleReport({
    streams: [
      sampleStream(),
      sampleStream({ name: 'withdraw', ledgerCount: 5_000, isComplete: false }),
      sampleStream({ name: 'addresses:60', serviceTotal: null, isComplete: false }),
    ],
    problems: [
      sampleProblem({ severity: 'critical', what: 'the address pool of chain 195 is empty' }),
      sampleProblem({ since: null }),
    ],
    coverage: [sampleCoverage()],
    pools: [samplePool({ daysLeft: 12.3 }), samplePool({ slip44: 195, available: 4 })],
    rejects: 2,
    unexpectedDeposits: { foreign: 1, unknown: 2 },
    balances: ['BTC', 'A-COIN-WITH-A-VERY-LONG-SYMBOL'].flatMap((symbol) =>
      sampleReport().balances.map((balance) => ({
        ...balance,
        symbol,
        balance: '123456789012.123456789012345678',
      })),
    ),
    lastErrors: [
      { wallet: 'main', job: 'details', at: '2026-03-01T11:00:00Z', message: 'HTTP 500' },
    ],
  });
}

describe.skipIf(!chromium)('the status page in Chromium', () => {
  it('is complete without script', async () => {
    const { page, complaints } = await visit(await serve(), { javaScriptEnabled: false });
    const text = await page.locator('body').innerText();
    expect(text).toContain('All is well');
    expect(text).toContain('service says 5,012 · ledger holds 5,012 · proven complete');
    expect(text).toContain('1,312 deposits');
    expect(await page.getByRole('img').count()).toBe(3);
    await page.getByText('Transactions as a table').click();
    expect(await page.locator('body').innerText()).toContain('2026-03-01\t1,300\t7');
    expect(await page.locator('noscript meta[http-equiv=refresh]').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('follows the ledger without being loaded again', async () => {
    if (!database) throw new Error('skipped');
    const { ledger, query } = database;
    await query(`insert into ledger.final_states values ('success', true)`);
    await query(`insert into ledger.streams (name, service_total, ledger_count, is_backed, last_success_at)
                 values ('deposit', 41, 41, true, now())`);
    const url = await serve({
      readStatus: async () => ({
        ...(await readStatus(ledger.db, [])),
        queue: sampleReport().queue,
      }),
      readFlows: () => readFlows(ledger.db),
    });
    const { page, complaints } = await visit(url);
    await page.getByText('ledger holds 41').waitFor();
    await page.getByText('Live: this page').waitFor();
    await page.evaluate('document.body.dataset.mark = "the same document"');
    await query(`update ledger.streams set service_total = 1234, ledger_count = 1234`);
    await page.getByText('ledger holds 1,234').waitFor({ timeout: 60_000 });
    expect(await page.locator('body').getAttribute('data-mark')).toBe('the same document');
    expect(complaints).toEqual([]);
  });

  it('keeps focus, what is folded out, and selected text while it is renewed', async () => {
    let rejects = 0;
    const url = await serve({
      readStatus: async () =>
        sampleReport({ rejects, problems: rejects > 0 ? [sampleProblem()] : [] }),
    });
    const { page } = await visit(url);
    await page.getByText('Live: this page').waitFor();
    const summary = page.getByText('Transactions as a table');
    await summary.click();
    await page.evaluate(`
      const cell = document.querySelector('[data-part=facts] dd');
      document.getSelection().selectAllChildren(cell);
    `);
    rejects = 7;
    await page.getByText('1 warning').waitFor({ timeout: 60_000 });
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY');
    expect(await page.locator('details[open]').count()).toBe(1);
    expect(await page.evaluate('String(document.getSelection())')).toBe('10,024');
    const facts = page.locator('[data-part=facts]');
    expect(await facts.innerText()).not.toContain('7');
    await page.evaluate('document.getSelection().empty()');
    await facts.getByText('7', { exact: true }).waitFor();
  });

  it('says when it is no longer up to date, and recovers', async () => {
    const http = await openHttp();
    const { page } = await visit(http.url);
    await page.getByText('Live: this page').waitFor();
    await http.close();
    await page.getByText(/No update since \d\d:\d\d:\d\d UTC/).waitFor({ timeout: 60_000 });
    expect(await page.title()).toMatch(/^No update since/);
    expect(await page.getByText('All is well').isVisible()).toBe(false);
    const again = await openHttp({ port: Number(new URL(http.url).port) });
    onTestFinished(() => again.close());
    await page.getByText('Live: this page').waitFor({ timeout: 60_000 });
    expect(await page.title()).toBe('wallet-ledger: all is well');
    expect(await page.getByText('All is well').isVisible()).toBe(true);
    expect(await page.getByText('No update since').count()).toBe(0);
  });

  it('says so too when the server hangs and the connection stays open', async () => {
    let isStanding = false;
    const url = await serve({
      readStatus: async () => {
        if (isStanding) await new Promise(() => undefined);
        return sampleReport();
      },
    });
    const { page } = await visit(url, { isClockOurs: true });
    await page.getByText('Live: this page').waitFor();
    isStanding = true;
    await page.clock.fastForward(10_000);
    await page.getByText('No update since').waitFor();
  });

  it.each(
    (['light', 'dark'] as const).flatMap((colorScheme) =>
      [1280, 360].map((width) => ({ colorScheme, width })),
    ),
  )('can be read by everybody: $colorScheme, $width px', async ({ colorScheme, width }) => {
    const url = await serve({ readStatus: async () => busyReport() });
    const { page } = await visit(url, { colorScheme, viewport: { width, height: 800 } });
    await page.getByText('Live: this page').waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });

  it('shows the queue at /queues, asking nobody else', async () => {
    const backend = await openTestBackend.postgres();
    onTestFinished(() => backend.close());
    const queue = await startQueue({
      backend: backend.address,
      prefix: 'browser',
      jobs: [{ name: 'idle', everyMs: 3_600_000, offsetMs: 0, run: async () => undefined }],
      log: recordLog().log,
      clock: systemClock,
    });
    onTestFinished(() => queue.close(3_000));
    const url = await serve({ openBoard: queue.openBoard, readFlows: async () => sampleFlows() });
    const { page, complaints } = await visit(url);
    await page.getByRole('link', { name: 'Queues' }).click();
    await page.getByText('browser').first().waitFor({ timeout: 60_000 });
    expect(complaints).toEqual([]);
  });
});
