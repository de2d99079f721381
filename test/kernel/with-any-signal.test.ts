import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { withAnySignal } from '../../src/kernel/with-any-signal.ts';

const attached = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

test.each([0, 1])('aborts with the reason of signal %i', async (which) => {
  const controllers = [new AbortController(), new AbortController()];
  await withAnySignal(
    controllers.map(({ signal }) => signal),
    async (signal) => {
      expect(signal.aborted).toBe(false);
      controllers[which]?.abort('enough');
      expect(signal.reason).toBe('enough');
    },
  );
});

test('a signal that has aborted before aborts the work at once', async () => {
  const stopped = AbortSignal.abort('before');
  const seen = withAnySignal([undefined, new AbortController().signal, stopped], async (signal) => [
    signal.aborted,
    signal.reason,
  ]);
  expect(await seen).toEqual([true, 'before']);
});

test('nothing stays attached, however the work ends', async () => {
  const { signal } = new AbortController();
  await withAnySignal([signal], async () => expect(attached(signal)).toBe(1));
  expect(attached(signal)).toBe(0);
  const failing = withAnySignal([signal], () => Promise.reject(new Error('failed')));
  await expect(failing).rejects.toThrow('failed');
  expect(attached(signal)).toBe(0);
});
