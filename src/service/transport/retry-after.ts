const pauseMaxMs = 120_000;

/**
 * Returns the milliseconds that a Retry-After header requests, at most 120 s; null if it is absent, past or malformed.
 * `now` is in Unix milliseconds.
 */
export function parseRetryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return ms > 0 ? Math.min(ms, pauseMaxMs) : null;
}
