import { expect, test } from 'vitest';
import { createReceiverRest } from '../../src/webhooks/receiver-rest.ts';

function fail(rest: ReturnType<typeof createReceiverRest>, times: number): number {
  let restMs = 0;
  for (let failure = 0; failure < times; failure += 1) restMs = rest.note(false);
  return restMs;
}

test('a receiver pauses after eight failures in a row, for as long as they lasted and at most ten seconds', () => {
  let now = 0;
  const rest = createReceiverRest(() => now);
  expect([fail(rest, 7), rest.isDown(), rest.isResting()]).toEqual([0, false, false]);
  now = 400;
  expect([fail(rest, 1), rest.isDown(), rest.isResting()]).toEqual([400, true, true]);
  now = 799;
  expect(rest.isResting()).toBe(true);
  now = 800;
  expect([rest.isResting(), rest.isDown()]).toEqual([false, true]);
  expect(fail(rest, 1)).toBe(800);
  now = 60_000;
  expect(fail(rest, 1)).toBe(10_000);
  expect(rest.note(true)).toBe(0);
  expect([rest.isResting(), rest.isDown()]).toEqual([false, false]);
  expect(fail(rest, 7)).toBe(0);
});

test('failures between accepted events do not cause a pause', () => {
  let now = 0;
  const rest = createReceiverRest(() => now);
  for (let round = 0; round < 20; round += 1) {
    now += 1_000;
    expect(fail(rest, 7)).toBe(0);
    rest.note(true);
  }
});
