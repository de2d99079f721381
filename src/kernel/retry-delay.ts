export type RetryPolicy = {
  /** Attempts in all, the first included. */
  attemptsMax: number;
  baseDelayMs: number;
  delayMaxMs: number;
};

/**
 * How long to wait before the attempt after `attempt` (1 is the first): exponential with full jitter.
 * `random` is in [0, 1). Milliseconds.
 */
export function retryDelayMs(attempt: number, policy: RetryPolicy, random: number): number {
  const ceiling = Math.min(policy.delayMaxMs, policy.baseDelayMs * 2 ** (attempt - 1));
  return Math.round(ceiling * (0.5 + random / 2));
}
