import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { safeErrorMessage } from './safe-error-message.ts';

const quietMs = 10_000;
const persistentMs = 60_000;
/** A fault that has not come for this long has ended. */
const forgetMs = 60_000;
const faultsMax = 100;

/** Takes what a connection, queue or worker reports. Never throws. */
export type FaultLog = (source: string, error: Error) => void;

type Fault = { since: number; loggedAt: number; seenAt: number; unlogged: number };

/**
 * A database that restarts makes the queue report the same fault many times a second: each fault is logged at
 * most once in ten seconds, as a warning first and as an error once it lasts a minute.
 */
export function createFaultLog(log: Log, clock: Clock): FaultLog {
  const faults = new Map<string, Fault>();
  return (source, error) => {
    const message = safeErrorMessage(error);
    const key = `${source} ${'code' in error ? String(error.code) : message}`;
    const now = clock();
    const fault = current(faults.get(key), now);
    fault.seenAt = now;
    fault.unlogged += 1;
    if (faults.size >= faultsMax) faults.clear();
    faults.set(key, fault);
    if (Math.abs(now - fault.loggedAt) < quietMs) return;
    const level = now - fault.since < persistentMs ? 'warn' : 'error';
    log[level]({ source, times: fault.unlogged }, `queue: ${message}`);
    fault.loggedAt = now;
    fault.unlogged = 0;
  };
}

function current(known: Fault | undefined, now: number): Fault {
  if (known && Math.abs(now - known.seenAt) < forgetMs) return known;
  return { since: now, loggedAt: Number.NEGATIVE_INFINITY, seenAt: now, unlogged: 0 };
}
