const pauseMaxMs = 120_000;

/**
 * Returns the milliseconds that the Retry-After header of an answer requests, at most 120 s; null if it is absent, past
 * or malformed. A date is measured by the clock that the answer shows in its Date header; `now` (Unix ms) stands in for
 * it.
 */
export function parseRetryAfterMs(headers: Headers, now: number): number | null {
  const text = headers.get('retry-after')?.trim() ?? '';
  const answeredAt = Date.parse(headers.get('date') ?? '') || now;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - answeredAt;
  return ms > 0 ? Math.min(ms, pauseMaxMs) : null;
}
