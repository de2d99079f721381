/** Value labelled with a name from the service. */
type Named = { name: string; value: number };

const seriesMax = 100;
const nameMax = 64;
const restName = '(others)';

/**
 * Returns at most 101 series: the 100 largest values by their names, and the largest of the rest as `(others)`. Values
 * with the same name, such as coins of several chains, become one series with the largest value.
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
