export type RetryPolicy = {
  /** Total number of attempts, including the first. */
  attemptsMax: number;
  baseDelayMs: number;
  delayMaxMs: number;
};

/**
 * Returns the milliseconds to wait after failed attempt number `attempt` (from 1). Exponential backoff with equal
 * jitter: between half and all of the current ceiling. `random` is in [0, 1).
 */
export function retryDelayMs(attempt: number, policy: RetryPolicy, random: number): number {
  const ceiling = Math.min(policy.delayMaxMs, policy.baseDelayMs * 2 ** (attempt - 1));
  return Math.round(ceiling * (0.5 + random / 2));
}
