import { setTimeout as delay } from 'node:timers/promises';
import { toError } from '../kernel/errors.ts';
import { settlesWithin } from './deadline.ts';
import type { FaultLog } from './fault-log.ts';

const passMaxMs = 60_000;

/**
 * Repeats `pass` every `everyMs` milliseconds until stopped. Continues after a pass that fails or does not end within a
 * minute.
 */
export function startWatchdog(
  everyMs: number,
  pass: () => Promise<void>,
  onFault: FaultLog,
): { stop(): void } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const watch = async () => {
    while (!signal.aborted) {
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const report = (thrown: unknown) => {
        if (!signal.aborted) onFault('watchdog', toError(thrown));
      };
      await settlesWithin(pass().catch(report), passMaxMs);
    }
  };
  void watch();
  return { stop: () => stopping.abort() };
}
