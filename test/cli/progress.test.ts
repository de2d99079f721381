import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { fitLines } from '../../src/cli/output/fit-lines.ts';
import { startHeartbeat } from '../../src/cli/output/heartbeat.ts';
import { createScreen, type Screen } from '../../src/cli/output/screen.ts';
import { createProgress } from '../../src/cli/progress/create-progress.ts';
import { createProgressMeter } from '../../src/cli/progress/measure-progress.ts';
import { durationWords, partWords } from '../../src/cli/progress/progress-words.ts';
import { createShutdown } from '../../src/cli/shutdown.ts';
import { emptyReport } from '../../src/sync/sync-context.ts';
import { recordLog } from '../support/record-log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function fakeScreen(isTTY: boolean) {
  const written: { atMs: number; text: string }[] = [];
  const stream = {
    isTTY,
    columns: 110,
    write: (text: string) => written.push({ atMs: performance.now(), text }) > 0,
    on: () => undefined,
  };
  const screen: Screen = createScreen(stream as unknown as NodeJS.WriteStream);
  return { screen, written, text: () => written.map(({ text }) => text).join('') };
}

const answer = { endpoint: '/v1/transaction/info', outcome: 'success', seconds: 0.1 };

describe('lines', () => {
  test('come at least every 10 s, also while nothing arrives, and say so', async () => {
    const { screen, written } = fakeScreen(false);
    const startMs = performance.now();
    const progress = createProgress(screen);
    await vi.advanceTimersByTimeAsync(11_000);
    progress.observers.onOpened();
    progress.observers.onSend();
    await vi.advanceTimersByTimeAsync(10_000);
    progress.observers.onAttempt(answer);
    progress.onProgress('deposit', 1_000, 5_000, 10);
    progress.observers.onSend();
    await vi.advanceTimersByTimeAsync(40_000);
    progress.stop();
    const times = written.map(({ atMs }) => atMs - startMs);
    for (const [index, atMs] of times.entries())
      expect(atMs - (times[index - 1] ?? 0)).toBeLessThanOrEqual(10_000);
    expect(times.at(-1)).toBe(61_000);
    expect(written[0]?.text).toBe('progress after 5 s: waiting for the database\n');
    expect(written[2]?.text).toBe('progress after 15 s: no answer from the service yet\n');
    expect(written.at(-2)?.text).toMatch(/^progress after 1 min 0 s: deposit: 1,000 of 5,000 rows/);
    expect(written.at(-2)?.text).toContain('no answer from the service for 39 s');
  });

  test('do not blame the service while it owes no answer', async () => {
    const { screen, written } = fakeScreen(false);
    const progress = createProgress(screen);
    progress.observers.onOpened();
    progress.observers.onSend();
    progress.observers.onAttempt(answer);
    progress.onProgress('deposit', 1_000, 5_000, 10);
    await vi.advanceTimersByTimeAsync(10_000);
    progress.stop();
    expect(written[1]?.text).toMatch(/; nothing requested for 10 s\n$/);
  });

  test('show pages, rows of the total, the rate and the time left', async () => {
    const { screen, written } = fakeScreen(false);
    const progress = createProgress(screen);
    for (let second = 1; second <= 10; second += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      progress.observers.onAttempt(answer);
      progress.onProgress('deposit', second * 300, 12_000, second * 3);
    }
    expect(written.at(-1)?.text).toBe(
      'progress after 10 s: deposit: 2,700 of 12,000 rows · 27 pages read · 300 rows/s · 31 s left\n',
    );
    progress.stop();
  });

  test('a pause that the service asked for is shown with its end', async () => {
    const { screen, written } = fakeScreen(false);
    const progress = createProgress(screen);
    progress.observers.onSend();
    progress.observers.onAttempt({ ...answer, outcome: 'rate-limited' });
    progress.observers.onPause(30_000);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(written.at(-1)?.text).toContain('paused: the service asked to wait, 20 s to go');
    await vi.advanceTimersByTimeAsync(25_000);
    expect(written.at(-1)?.text).toContain('for 35 s (last failure: rate-limited), retrying');
    progress.stop();
  });

  test.each(['refused', 'interrupted'])(
    'a request that ends %s is no failure of the service',
    async (outcome) => {
      const { screen, written } = fakeScreen(false);
      const progress = createProgress(screen);
      progress.observers.onSend();
      progress.observers.onAttempt({ ...answer, outcome });
      await vi.advanceTimersByTimeAsync(10_000);
      progress.stop();
      expect(written.at(-1)?.text).toContain('nothing requested for 10 s');
    },
  );

  test('a finished task is not shown any more, until all are finished', async () => {
    const { screen, written } = fakeScreen(false);
    const progress = createProgress(screen);
    await vi.advanceTimersByTimeAsync(1_000);
    progress.onProgress('deposit', 100, 100, 1);
    progress.observers.onRun('transactions', emptyReport());
    progress.onProgress('details', 32, 100);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(written.at(-1)?.text).toContain('details: 32 of 100 rows');
    expect(written.at(-1)?.text).not.toContain('deposit');
    progress.observers.onRun('details', emptyReport());
    progress.stop();
    progress.stop();
    expect(written).toHaveLength(2);
    expect(written.at(-1)?.text).toContain(
      'deposit: 100 of 100 rows · 1 page read · in 0 s; details:',
    );
  });
});

describe('a part', () => {
  test('of which all rows are known has no time left, however slow it was', () => {
    let nowMs = 0;
    const meter = createProgressMeter(() => nowMs);
    meter.onProgress('deposit', 5, 5);
    nowMs = 600_000;
    expect(meter.measure().parts[0]).toMatchObject({ secondsLeft: 0 });
  });

  test('of which a command runs several passes counts the pages of all, beside the time of all', () => {
    let nowMs = 0;
    const meter = createProgressMeter(() => nowMs);
    for (const pages of [0, 9, 18]) meter.onProgress('deposit', pages * 100, 1_800, pages);
    meter.onRun('transactions', emptyReport());
    nowMs = 300_000;
    for (const pages of [0, 1]) meter.onProgress('deposit', 1_800, 1_800, pages);
    meter.onRun('transactions', emptyReport());
    expect(meter.measure().parts[0]).toMatchObject({ done: 1_800, pages: 19, tookSeconds: 300 });
  });

  test('that is read again from its start has no rate below zero', () => {
    let nowMs = 0;
    const meter = createProgressMeter(() => nowMs);
    for (const done of [0, 5_000, 100]) {
      meter.onProgress('deposit', done, 10_000);
      nowMs += 2_000;
    }
    expect(meter.measure().parts[0]?.rowsPerSecond).toBeNull();
    meter.onProgress('deposit', 300, 10_000);
    expect(meter.measure().parts[0]?.rowsPerSecond).toBe(100);
  });
});

describe('bars', () => {
  test('there is one for each part, and log lines go above them', async () => {
    const { screen, text } = fakeScreen(true);
    const progress = createProgress(screen);
    progress.onProgress('deposit', 2_500, 5_000, 25);
    progress.onProgress('details', 10, 100);
    screen.log.write('WARN a line of the log\n');
    expect(text()).not.toContain('WARN');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(text()).toMatch(/deposit +█+░+ 2,500 of 5,000 rows · 25 pages read/);
    expect(text()).toMatch(/details +█+░+ 10 of 100 rows/);
    expect(text()).toContain('WARN a line of the log\n');
    screen.log.write('the last line\n');
    progress.stop();
    expect(text()).toContain('the last line\n');
    screen.log.write('after the bars\n');
    expect(text().endsWith('after the bars\n')).toBe(true);
  });
});

describe('a bar', () => {
  test.each([
    ['of no rows yet', [0, 0], /deposit +░+ 0 of 0 rows/],
    ['of an unknown total', [700, null], /deposit +░+ 700 rows/],
    ['that is half full', [50, 100], /deposit +█+░+ 50 of 100 rows/],
  ] as const)('%s is not full', async (_, [done, total], shown) => {
    const { screen, text } = fakeScreen(true);
    const progress = createProgress(screen);
    progress.onProgress('deposit', done, total);
    await vi.advanceTimersByTimeAsync(1_000);
    progress.stop();
    expect(text()).toMatch(shown);
    expect(text()).not.toMatch(/deposit +█+ /);
  });

  test('of a part that has ended without a row is full', async () => {
    const { screen, text } = fakeScreen(true);
    const progress = createProgress(screen);
    progress.onProgress('details', 0, 0);
    progress.observers.onRun('details', emptyReport());
    await vi.advanceTimersByTimeAsync(1_000);
    progress.stop();
    expect(text()).toMatch(/details +█+ 0 of 0 rows · in/);
  });
});

test('a daemon on a terminal says each minute what it has done', async () => {
  const { log, lines } = recordLog();
  const shutdown = createShutdown({ log, host: new EventEmitter() as unknown as NodeJS.Process });
  const heartbeat = startHeartbeat({ log, shutdown });
  heartbeat.onRun({ rowsInserted: 1_200, rowsUpdated: 3 });
  heartbeat.onRun({ rowsInserted: 0, rowsUpdated: 0 });
  await vi.advanceTimersByTimeAsync(120_000);
  await shutdown.close();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(lines.map(({ message }) => message)).toEqual([
    'in the last minute: 2 passes, 1,200 new and 3 changed rows',
    'in the last minute: 0 passes, 0 new and 0 changed rows',
  ]);
});

test.each([40, 60, 100])(
  'lines are broken between words at %i columns, and not for a pipe',
  (columns) => {
    const text = `short\n    the service says 3,000, the ledger holds 3,000: ${'proven complete '.repeat(5)}\n`;
    expect(fitLines(text, undefined)).toBe(text);
    const fitted = fitLines(text, columns);
    expect(Math.max(...fitted.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(fitted).toMatch(/^short\n {4}the /);
    expect(fitted.replaceAll(/\s+/g, ' ')).toBe(text.replaceAll(/\s+/g, ' '));
  },
);

describe('the pace', () => {
  test('of details is that of the answers, which come one by one while rows come in batches', () => {
    let nowMs = 0;
    const meter = createProgressMeter(() => nowMs);
    for (let second = 1; second <= 60; second += 1) {
      nowMs = second * 1_000;
      for (let request = 0; request < 10; request += 1) meter.onAttempt(answer);
      if (second % 6 === 0) meter.onProgress('details', second * 10, 1_200);
      meter.measure();
    }
    const [details] = meter.measure().parts;
    expect(details?.requestsPerSecond).toBeCloseTo(10, 0);
    expect(details?.secondsLeft).toBeCloseTo(60, 0);
    expect(details && partWords(details)).toBe(
      '600 of 1,200 rows · 10 requests/s · 1 min 0 s left',
    );
  });

  test('is smoothed: batches do not make the time left jump, and a standstill makes it unknown', () => {
    let nowMs = 0;
    const meter = createProgressMeter(() => nowMs);
    const left: number[] = [];
    for (let second = 1; second <= 60; second += 1) {
      nowMs = second * 1_000;
      // 1,000 rows every 4 s.
      if (second % 4 === 0) meter.onProgress('deposit', second * 250, 100_000, second);
      const seconds = meter.measure().parts[0]?.secondsLeft ?? null;
      if (second > 30 && seconds !== null) left.push(seconds);
    }
    expect(Math.min(...left)).toBeGreaterThan(260);
    expect(Math.max(...left)).toBeLessThan(480);
    nowMs += 600_000;
    expect(meter.measure().parts[0]).toMatchObject({ rowsPerSecond: 0, secondsLeft: null });
  });
});

test.each([
  [0.4, '0 s'],
  [45, '45 s'],
  [59.7, '1 min 0 s'],
  [468, '7 min 48 s'],
  [7_500, '2 h 5 min'],
  [273_600, '3 days 4 h'],
])('%s seconds are %s', (seconds, words) => {
  expect(durationWords(seconds)).toBe(words);
});
