import { setTimeout as delay } from 'node:timers/promises';
import { toError } from '../kernel/errors.ts';
import { settlesWithin } from './deadline.ts';
import type { FaultLog } from './fault-log.ts';

const passMaxMs = 60_000;

/** Repeats `pass` at the interval until stopped. A pass that fails, or never ends, does not stop the next. */
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
