import { Hono } from 'hono';
import { afterEach, expect, test, vi } from 'vitest';
import { answerWithEvents } from '../../src/http/page/event-stream.ts';
import type { Page } from '../../src/http/page/page-frame.ts';
import { createLiveStatus } from '../../src/http/status-page/live-status.ts';
import { sampleProblem, sampleReport } from '../support/sample-report.ts';
import { type HttpHarness, openHttp } from '../support/with-http.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

function liveOf(render: () => Promise<Page>, listenersMax = 50) {
  return createLiveStatus({ render, everyMs: 5_000, listenersMax });
}

const page = (title: string): Page => ({ title, parts: {} });
const deaf = { onPage: () => undefined, end: () => undefined };

test('listeners get the page at once, then with each tick, from one reading', async () => {
  vi.useFakeTimers();
  let reads = 0;
  const live = liveOf(async () => page(`page ${++reads}`));
  const told: string[][] = [[], []];
  for (const titles of told) {
    live.listen({ onPage: ({ title }) => titles.push(title), end: () => undefined });
  }
  await vi.advanceTimersByTimeAsync(10_000);
  expect(told).toEqual([
    ['page 1', 'page 3', 'page 4'],
    ['page 2', 'page 3', 'page 4'],
  ]);
});

test('nothing is read and no timer runs once nobody listens', async () => {
  vi.useFakeTimers();
  let reads = 0;
  const live = liveOf(async () => page(`page ${++reads}`));
  expect(vi.getTimerCount()).toBe(0);
  const leaves = [live.listen(deaf), live.listen(deaf)];
  await vi.advanceTimersByTimeAsync(5_000);
  expect([reads, vi.getTimerCount()]).toEqual([3, 1]);
  for (const leave of leaves) leave?.();
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reads).toBe(3);
  live.listen(deaf);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(reads).toBe(5);
});

test('one that leaves during a reading gets nothing, and the next tick comes once', async () => {
  vi.useFakeTimers();
  let release = (_: Page): void => undefined;
  const live = liveOf(
    () =>
      new Promise((resolve) => {
        release = resolve;
      }),
  );
  const onPage = vi.fn();
  const leave = live.listen({ onPage, end: () => undefined });
  await vi.advanceTimersByTimeAsync(5_000);
  leave?.();
  live.listen(deaf);
  release(page('late'));
  await vi.advanceTimersByTimeAsync(0);
  expect(onPage).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBeLessThanOrEqual(1);
});

test('closing ends all and takes no more', () => {
  const live = liveOf(async () => page('page'), 2);
  const end = vi.fn();
  expect(live.listen({ ...deaf, end })).not.toBeNull();
  expect(live.listen({ ...deaf, end })).not.toBeNull();
  expect(live.listen(deaf)).toBeNull();
  live.close();
  expect(end).toHaveBeenCalledTimes(2);
  expect(live.listen(deaf)).toBeNull();
});

async function open(options: Parameters<typeof openHttp>[0] = {}): Promise<HttpHarness> {
  const http = await openHttp(options);
  cleanups.push(http.close);
  return http;
}

type Reader = { response: Response; next(): Promise<Page>; leave(): void };

/** Reads the events one by one. */
async function listen(url: string): Promise<Reader> {
  const controller = new AbortController();
  cleanups.push(() => controller.abort());
  const response = await fetch(`${url}/events`, { signal: controller.signal });
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  async function next(): Promise<Page> {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        if (event.startsWith('data: ')) return JSON.parse(event.slice(6));
        continue;
      }
      const chunk = await chunks?.read();
      if (chunk?.value === undefined) throw new Error('the events have ended');
      text += chunk.value;
    }
  }
  return { response, next, leave: () => controller.abort() };
}

test('events carry the whole page first, then only what changed', async () => {
  let rejects = 0;
  const { url, reads } = await open({
    readStatus: async () =>
      sampleReport({ rejects, problems: rejects > 0 ? [sampleProblem()] : [] }),
  });
  const { response, next } = await listen(url);
  expect(response.headers.get('Content-Type')).toBe('text/event-stream');
  expect(response.headers.get('Cache-Control')).toBe('no-store');
  const first = await next();
  expect(first.title).toBe('wallet-ledger: all is well');
  expect(Object.keys(first.parts)).toEqual(
    expect.arrayContaining(['verdict', 'streams', 'flows', 'errors']),
  );
  rejects = 3;
  const second = await next();
  expect(second.title).toBe('wallet-ledger: 1 warning');
  expect(Object.keys(second.parts)).toEqual(['verdict', 'problems', 'facts']);
  expect(reads.flows).toBe(1);
});

test('an event comes with each tick although nothing changes, so that silence means a lost connection', async () => {
  let readings = 0;
  const { url } = await open({
    readStatus: async () => {
      readings += 1;
      return sampleReport({ problems: readings > 2 ? [sampleProblem()] : [] });
    },
  });
  const { next } = await listen(url);
  await next();
  // The tick without news, not the one after it that has some.
  expect(await next()).toEqual({ title: 'wallet-ledger: all is well', parts: {} });
}, 30_000);

test('while the status cannot be read, listeners get a message that says so', async () => {
  const { url } = await open({ readStatus: () => Promise.reject(new Error('gone')) });
  const { parts } = await (await listen(url)).next();
  expect(parts.verdict).toContain('The status cannot be read');
  expect(parts.problems).toContain('What to do');
});

test('[S7 S8] the token is asked for, and at most 50 listen at once', async () => {
  const guarded = await open({ token: 'secret' });
  for (const path of ['/events', '/status.js', '/queues', '/queues/api/queues']) {
    expect([path, (await fetch(`${guarded.url}${path}`)).status]).toEqual([path, 401]);
  }
  const { url } = await open();
  const readers = await Promise.all(Array.from({ length: 50 }, () => listen(url)));
  expect(readers.every(({ response }) => response.status === 200)).toBe(true);
  const refused = await listen(url);
  expect([refused.response.status, refused.response.headers.get('Retry-After')]).toEqual([
    503,
    '30',
  ]);
  readers[0]?.leave();
  await expect.poll(async () => (await listen(url)).response.status).toBe(200);
});

test('HEAD holds no place', async () => {
  const { url } = await open();
  for (let count = 0; count < 60; count += 1) {
    expect((await fetch(`${url}/events`, { method: 'HEAD' })).status).toBe(200);
  }
  expect((await listen(url)).response.status).toBe(200);
});

test('closing ends the events', async () => {
  const { url, close } = await open();
  const { next } = await listen(url);
  await next();
  const startedAt = performance.now();
  await close();
  await expect(next()).rejects.toThrow();
  expect(performance.now() - startedAt).toBeLessThan(1_500);
});

test('one who does not read is disconnected, and the others still get pages', async () => {
  vi.useFakeTimers();
  let reads = 0;
  const live = liveOf(async () => page(`page ${++reads}`));
  const app = new Hono().get('/events', (c) => answerWithEvents(c, live));
  const unread = await app.request('/events');
  const onPage = vi.fn();
  live.listen({ ...deaf, onPage });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(onPage).toHaveBeenCalledTimes(13);
  // It has ended, and what was on its way is gone with it.
  expect(await unread.text()).not.toContain('page 3');
});
