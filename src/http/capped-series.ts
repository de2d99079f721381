/** A value under a name that the service gave. */
type Named = { name: string; value: number };

const seriesMax = 100;
const nameMax = 64;
const restName = '(others)';

/**
 * At most 101 series, whatever the service names: the largest values each under their name, and under `(others)` the
 * largest of those left out. Values under one name, as coins of several chains have, are one series: the largest.
 */
export function cappedSeries(all: readonly Named[]): Named[] {
  const largestFirst = [...all].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const series = new Map<string, number>();
  for (const { name, value } of largestFirst) {
    const shown = name.length > nameMax ? `${name.slice(0, nameMax - 1)}…` : name;
    const key = series.size < seriesMax || series.has(shown) ? shown : restName;
    if (!series.has(key)) series.set(key, value);
  }
  return [...series].map(([name, value]) => ({ name, value }));
}
