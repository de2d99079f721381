import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPageSource } from '../../src/http/page/page-source.ts';
import { renderStatus } from '../../src/http/status-page/status-page.ts';
import type { DailyFlows } from '../../src/ledger/reports/read-flows.ts';
import { recordLog } from '../support/record-log.ts';
import { sampleFlows, sampleReport } from '../support/sample-report.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function sourceOf(readFlows: () => Promise<DailyFlows>) {
  const { log, lines } = recordLog();
  return {
    read: createPageSource({
      readStatus: async () => sampleReport(),
      readFlows,
      render: renderStatus,
      log,
    }),
    lines,
  };
}

test('the status is read each second, the flows every 30 s, independent of the number of readers', async () => {
  const readStatus = vi.fn(async () => sampleReport());
  const readFlows = vi.fn(async () => sampleFlows());
  const read = createPageSource({
    readStatus,
    readFlows,
    render: renderStatus,
    log: recordLog().log,
  });
  for (let second = 0; second < 60; second += 1) {
    await Promise.all(Array.from({ length: 20 }, read));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(readStatus.mock.calls.length).toBeLessThanOrEqual(60);
  expect(readFlows).toHaveBeenCalledTimes(2);
});

test('flows that fail are said to be missing, once in the log; the rest is there', async () => {
  const { read, lines } = sourceOf(() => Promise.reject(new Error('gone')));
  for (let reading = 0; reading < 3; reading += 1) {
    const { page, isFailure } = await read();
    expect(isFailure).toBe(false);
    expect(page.parts.flows).toContain('cannot be read at the moment');
    expect(page.parts.streams).toContain('proven complete');
    await vi.advanceTimersByTimeAsync(40_000);
  }
  expect(lines.map(({ message }) => message)).toEqual(['the daily flows cannot be read']);
});

test('flows that hang hold the page up for 3 s at most', async () => {
  const { read } = sourceOf(() => new Promise(() => undefined));
  const reading = read();
  await vi.advanceTimersByTimeAsync(3_000);
  expect((await reading).page.parts.flows).toContain('cannot be read at the moment');
});
