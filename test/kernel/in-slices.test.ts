import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { mapInSlices } from '../../src/kernel/in-slices.ts';

test('the event loop turns between slices, and an item beyond the bound is a slice of its own', async () => {
  const progress = { turn: 0, isDone: false };
  const turning = (async () => {
    for (; !progress.isDone; progress.turn += 1) await nextTurn();
  })();
  const weights = [3, 3, 3, 9, 1, 1, 0, 5];
  const turns = new Map<number, number>();
  const mapped = await mapInSlices(
    weights.map((weight, place) => ({ weight, place })),
    7,
    ({ weight }) => weight,
    ({ weight, place }) => {
      turns.set(progress.turn, (turns.get(progress.turn) ?? 0) + weight);
      return place;
    },
  );
  progress.isDone = true;
  await turning;
  expect(mapped).toEqual(weights.map((_, place) => place));
  expect([...turns.values()]).toEqual([6, 3, 9, 7]);
});

test('the slices of several answers at once do not add up: one of them for each turn of the loop', async () => {
  const progress = { turn: 0, isDone: false };
  const turning = (async () => {
    for (; !progress.isDone; progress.turn += 1) await nextTurn();
  })();
  const turns = new Map<number, number>();
  const items = Array.from({ length: 5 }, (_, nth) => nth);
  const note = () => turns.set(progress.turn, (turns.get(progress.turn) ?? 0) + 1);
  await Promise.all(Array.from({ length: 4 }, () => mapInSlices(items, 1, () => 1, note)));
  progress.isDone = true;
  await turning;
  const [first, ...later] = turns.values();
  // The first slices are begun by the callers.
  expect(first).toBe(4);
  expect(later).toEqual(Array.from({ length: 16 }, () => 1));
});
