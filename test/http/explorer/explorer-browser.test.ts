import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readBriefly } from '../../../src/ledger/connection/read-briefly.ts';
import { explorerPages, explorerSample } from '../../support/explorer-sample.ts';
import { chromiumProgram, openChromium } from '../../support/open-chromium.ts';
import { sampleProblem, sampleReport } from '../../support/sample-report.ts';
import { faultsOf, visiting } from '../../support/visit-page.ts';
import { type HttpHarness, openHttp } from '../../support/with-http.ts';
import { withLedger } from '../../support/with-ledger.ts';

const program = chromiumProgram();
const chromium = program ? await openChromium(program) : undefined;
const database = chromium ? await withLedger() : undefined;
const visit = visiting(chromium);
let http: HttpHarness;

beforeAll(async () => {
  if (!database) return;
  await database.query(explorerSample);
  http = await openHttp({
    read: (work) => readBriefly(database.ledger, work),
    readStatus: async () => sampleReport({ problems: [sampleProblem()] }),
  });
});
afterAll(async () => {
  await chromium?.close();
  await http?.close();
});

describe.skipIf(!chromium)('the pages to look things up in Chromium', () => {
  it.each([
    { colorScheme: 'light', width: 360 },
    { colorScheme: 'dark', width: 1280 },
  ] as const)(
    'can be read by everybody: $colorScheme, $width px',
    async ({ colorScheme, width }) => {
      const viewport = { width, height: 900 };
      const { page, complaints } = await visit(http.url, { colorScheme, viewport });
      for (const path of explorerPages.filter((page) => !/days=|show=|job=/.test(page))) {
        await page.goto(`${http.url}${path}`);
        expect([path, await faultsOf(page)]).toEqual([path, []]);
      }
      expect(complaints).toEqual([]);
    },
    60_000,
  );

  it('show the time of the reader beside UTC, with script', async () => {
    const options = { timezoneId: 'Asia/Tokyo' };
    const url = `${http.url}/proof?year=2025`;
    const { page, complaints } = await visit(url, options);
    // Midnight in UTC is 9 o'clock in Tokyo, on the same day.
    const midnight = page.locator('time[datetime="2025-03-01T00:00:00Z"] + .own-time');
    expect(await midnight.first().textContent()).toBe('09:00');
    expect(await page.locator('footer').innerText()).toContain('those in grey are of Asia/Tokyo');
    expect(complaints).toEqual([]);
    const without = await visit(url, { ...options, javaScriptEnabled: false });
    expect(await without.page.locator('.own-time').count()).toBe(0);
    expect(await without.page.locator('footer').innerText()).toContain('Times are UTC. ');
  });

  it('are found by keyboard alone: the skip link, the search, a filter, the page of an order', async () => {
    const { page, complaints } = await visit(`${http.url}/coins`, { javaScriptEnabled: false });
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('location.hash')).toBe('#main');
    await page.getByLabel(/^Order, request/).focus();
    await page.keyboard.type('customer <7>');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Address bc1-one' }).waitFor();
    expect(page.url()).toBe(`${http.url}/addresses/bc1-one`);
    await page.getByRole('link', { name: 'Transactions', exact: true }).press('Enter');
    await page.getByLabel('List').selectOption('withdraw');
    await page.getByRole('combobox', { name: 'Coin' }).press('Enter');
    await page.getByText('2 transactions, latest first').waitFor();
    await page.getByRole('link', { name: 'order-2' }).press('Enter');
    await page.getByRole('heading', { name: 'withdraw order-2' }).waitFor();
    expect(complaints).toEqual([]);
  });
});
