import { expect, test } from 'vitest';
import { answerWithin, cacheFor } from '../../src/http/cache-for.ts';

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

test('a promise that does not settle in time is rejected', async () => {
  await expect(answerWithin(new Promise(() => undefined), 10)).rejects.toThrow('no answer within');
  expect(await answerWithin(Promise.resolve(1), 1_000)).toBe(1);
});
