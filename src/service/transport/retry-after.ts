const pauseMaxMs = 120_000;

/**
 * Milliseconds that a Retry-After header asks to wait, 120 s at most; null when it is absent, past or nonsense.
 * `now` is in Unix milliseconds.
 */
export function parseRetryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return ms > 0 ? Math.min(ms, pauseMaxMs) : null;
}
