import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { RequestParts } from './build-request.ts';
import type { Failure } from './judge-answer.ts';

/** Attempt from which on a failure is a warning: a service that fails now and then must not flood the log. */
const warnedFrom = 5;
const quietMs = 60_000;

/** Logs an attempt that failed and is followed by another one. */
export type RetryLog = (request: RequestParts, attempt: number, failure: Failure) => void;

/**
 * Creates a log that limits repeated failures: in an outage all requests fail in the same way. Warns at most once a
 * minute for each endpoint and code, with the number of failures since the last warning as `times`.
 */
export function createRetryLog(log: Log, clock: Clock): RetryLog {
  const warnings = new Map<string, { at: number; unlogged: number }>();
  return ({ method, path, query = [] }, attempt, { code, message }) => {
    const endpoint = `${method} ${path}`;
    const key = `${endpoint} ${code}`;
    const fields = { endpoint, ...Object.fromEntries(query), attempt, code, reason: message };
    const { at, unlogged } = warnings.get(key) ?? { at: Number.NEGATIVE_INFINITY, unlogged: 0 };
    const isPersistent = attempt >= warnedFrom;
    const isWarned = isPersistent && Math.abs(clock() - at) >= quietMs;
    if (isWarned) log.warn({ ...fields, times: unlogged + 1 }, 'the request failed; retrying');
    else log.debug(fields, 'the request failed; retrying');
    if (isWarned) warnings.set(key, { at: clock(), unlogged: 0 });
    else if (isPersistent) warnings.set(key, { at, unlogged: unlogged + 1 });
  };
}
