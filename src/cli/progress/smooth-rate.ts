export type SmoothRate = {
  /** Records the counter's value. `nowMs`: milliseconds of a monotonic clock. */
  update(nowMs: number, count: number): void;
  /** Null until the first second has passed. */
  perSecond(): number | null;
};

/** Time constant of the rate. Until it has passed, the rate is the mean since the start. */
const memoryMs = 15_000;
const shortestMs = 1_000;

/** Measures the rate of a counter, smoothed over about 15 s. */
export function createSmoothRate(startMs: number, startCount: number): SmoothRate {
  let lastMs = startMs;
  let lastCount = startCount;
  let rate: number | null = null;
  return {
    update(nowMs, count) {
      const stepMs = nowMs - lastMs;
      if (stepMs < shortestMs) return;
      const stepRate = ((count - lastCount) * 1_000) / stepMs;
      const weight = Math.min(1, stepMs / Math.min(memoryMs, nowMs - startMs));
      rate = (rate ?? 0) * (1 - weight) + stepRate * weight;
      lastMs = nowMs;
      lastCount = count;
    },
    perSecond: () => rate,
  };
}
