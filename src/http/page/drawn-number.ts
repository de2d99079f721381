/** Bound that keeps sums and differences of numbers below the overflow. */
const drawnMax = 1e300;

/** Converts a decimal into a finite number for drawing. The lost precision is not visible in a chart. */
export function drawnNumber(decimal: string | null): number {
  return Math.min(drawnMax, Math.max(-drawnMax, Number(decimal ?? 0) || 0));
}
