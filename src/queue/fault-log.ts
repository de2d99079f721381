import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { safeErrorMessage } from './safe-error-message.ts';

const quietMs = 10_000;
const persistentMs = 60_000;
/** A fault that has not occurred for this long has ended. */
const forgetMs = 60_000;
const faultsMax = 100;

/** Logs an error of a connection, queue or worker. Never throws. */
export type FaultLog = (source: string, error: Error) => void;

type Fault = { since: number; loggedAt: number; seenAt: number; unlogged: number };

/**
 * Creates a log that limits repeated faults: a restarting database makes the queue report one fault many times a
 * second. Logs each fault at most once in ten seconds, first as a warning, and as an error once it has lasted a minute.
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
