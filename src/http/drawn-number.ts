/** Far from where sums and differences of numbers overflow. */
const drawnMax = 1e300;

/** A decimal as a number to draw with, always finite: digits beyond its precision do not show in a picture. */
export function drawnNumber(decimal: string | null): number {
  return Math.min(drawnMax, Math.max(-drawnMax, Number(decimal ?? 0) || 0));
}
