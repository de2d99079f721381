import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { answerWithin, cacheFor } from '../../src/http/page/cache-for.ts';

test('callers share the reading under way, and its outcome for a while', async () => {
  let reads = 0;
  const read = cacheFor(async () => ++reads, 60_000);
  expect(await Promise.all([read(), read()])).toEqual([1, 1]);
  expect(await read()).toBe(1);
});

test('after that it is read again', async () => {
  let reads = 0;
  const read = cacheFor(async () => ++reads, 5);
  expect(await read()).toBe(1);
  await expect.poll(read).toBe(2);
});

/** A source whose answers come when the test gives them. */
function createSource() {
  const waiting: ((answer: number | Error) => void)[] = [];
  const read = () =>
    new Promise<number>((resolve, reject) => {
      waiting.push((answer) => (typeof answer === 'number' ? resolve(answer) : reject(answer)));
    });
  return {
    read,
    asked: () => waiting.length,
    give: (answer: number | Error) => waiting.shift()?.(answer),
  };
}

test('who calls while it is read again gets the last outcome, and after a failure the failure', async () => {
  const { read, asked, give } = createSource();
  const cached = cacheFor(read, 0, 60_000);
  const first = cached();
  give(1);
  expect(await first).toBe(1);
  const readAgain = () => expect.poll(async () => [await cached(), asked()]);
  await readAgain().toEqual([1, 1]);
  give(2);
  await readAgain().toEqual([2, 1]);
  give(new Error('gone'));
  await expect.poll(() => cached().catch(() => 'failed')).toBe('failed');
});

test('an outcome that is too old is not shown again', async () => {
  const { read, asked, give } = createSource();
  const cached = cacheFor(read, 0, 20);
  const first = cached();
  give(1);
  expect(await first).toBe(1);
  await delay(25);
  const next = cached();
  expect(asked()).toBe(1);
  give(2);
  expect(await next).toBe(2);
});

test('a failure is shared as well, and also when it is thrown at once', async () => {
  let reads = 0;
  const read = cacheFor(() => {
    reads += 1;
    throw new Error('gone');
  }, 60_000);
  await expect(read()).rejects.toThrow('gone');
  await expect(read()).rejects.toThrow('gone');
  expect(reads).toBe(1);
});

test('a failure and a single slow outcome are kept for a few seconds, and slow outcomes in a row for longer', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { read, asked, give } = createSource();
  const cached = cacheFor(read, 1_000);
  const callAfter = (ms: number) => {
    vi.advanceTimersByTime(ms);
    return cached().catch(() => 'failed');
  };
  const readFor = async (ms: number, answer: number | Error) => {
    const outcome = callAfter(0);
    expect(asked()).toBe(1);
    vi.advanceTimersByTime(ms);
    give(answer);
    return await outcome;
  };
  expect(await readFor(80_000, 1)).toBe(1);
  await callAfter(999);
  expect(asked()).toBe(0);
  vi.advanceTimersByTime(1);
  expect(await readFor(80_000, new Error('gone'))).toBe('failed');
  expect(await callAfter(4_999)).toBe('failed');
  vi.advanceTimersByTime(1);
  expect(await readFor(10_000, 2)).toBe(2);
  expect(await callAfter(89_999)).toBe(2);
  vi.advanceTimersByTime(1);
  expect(await readFor(10, 3)).toBe(3);
});

test('a promise that does not settle in time is rejected', async () => {
  await expect(answerWithin(new Promise(() => undefined), 10)).rejects.toThrow('no answer within');
  expect(await answerWithin(Promise.resolve(1), 1_000)).toBe(1);
});
