import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSlice } from '../../src/sync/streams/slice.ts';

test('waiting does not count towards the duration of a slice', async () => {
  const slice = createSlice(200, async () => false);
  await slice.pause(sleep(300));
  expect(slice.isOver()).toBe(false);
  await sleep(250);
  expect(slice.isOver()).toBe(true);
});

test('a slice ends when a poll wishes for the list, also after a wait', async () => {
  const slice = createSlice(60_000, async () => true);
  await sleep(250);
  await slice.listen();
  expect(slice.isOver()).toBe(true);
  await slice.pause(sleep(1));
  expect(slice.isOver()).toBe(true);
});
