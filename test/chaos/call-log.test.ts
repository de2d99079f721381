import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createCallLog } from './oracle/call-log.ts';

const windowMs = 1_000;

test.each([
  ['requests that were held up by the service itself are not counted into a shorter time', 900, 1],
  ['requests that were held up by nothing are counted', 0, 2],
])('%s', async (_what, stallMs, within) => {
  const log = createCallLog(windowMs);
  await delay(100);
  const resumeAt = performance.now() + stallMs;
  while (performance.now() < resumeAt);
  await delay(15);
  log.receive('GET', '/', null);
  await delay(400);
  log.receive('GET', '/', null);
  expect(log.totals.maxIn10s).toBe(within);
});
