export type SmoothRate = {
  /** Tells where the counter stands. Milliseconds of a steady clock. */
  update(nowMs: number, count: number): void;
  /** Null until there is something to tell it from. */
  perSecond(): number | null;
};

/** Memory of the rate: at first the mean since the start, then one that forgets what is older than this. */
const memoryMs = 15_000;
const shortestMs = 1_000;

/** The rate of a counter, smoothed over the last quarter of a minute or so. */
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
