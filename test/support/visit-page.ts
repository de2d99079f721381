import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { Chromium } from './open-chromium.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type Visit = { page: Page; complaints: string[] };
/** `isClockOurs`: timers of the page wait for `page.clock`. */
type VisitOptions = BrowserContextOptions & { isClockOurs?: boolean };

/**
 * Returns a function that opens an address in a new browser window. `complaints`: messages of the browser, and
 * requests to other origins.
 */
export function visiting(chromium: Chromium | undefined) {
  return async (url: string, { isClockOurs, ...options }: VisitOptions = {}): Promise<Visit> => {
    const browser = chromium?.context.browser();
    if (!browser) throw new Error('skipped');
    const context = await browser.newContext(options);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => {
      const target = new URL(request.url());
      if (target.protocol !== 'data:' && target.origin !== new URL(url).origin)
        complaints.push(request.url());
    });
    if (isClockOurs) await page.clock.install();
    await page.goto(url);
    return { page, complaints };
  };
}

/** Opens all expandable parts, and returns the obstacles for readers: axe's findings, and overflow. */
export async function faultsOf(page: Page): Promise<unknown[]> {
  for (const summary of await page.locator('summary').all()) await summary.click();
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>(
    "axe.run({ resultTypes: ['violations'], preload: false })",
  );
  const overflow = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return [
    ...violations.map(({ id, impact, nodes }) => ({ id, impact, html: nodes[0]?.html })),
    ...(overflow === 0 ? [] : [{ overflow }]),
  ];
}
