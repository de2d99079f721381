/** One measured figure, with the floor that was measured in the same run. */
export type Figure = {
  /** Letter of the part, and what was measured. */
  part: string;
  what: string;
  /** Unit of both value and floor: rows/s, requests, ms, MiB, … */
  unit: string;
  /** One value per run. */
  samples: number[];
  /** Value that the figure is compared with, one per run. */
  floor?: { what: string; samples: number[] };
  target?: Target;
  note?: string;
};

/** Minimum or maximum for the target, by the ratio to the floor or by the value itself. */
export type Target = { of: 'ratio' | 'value' } & ({ atLeast: number } | { atMost: number });

/** A figure as it is printed and written. */
export type FigureRow = Omit<Figure, 'floor'> & {
  /** Median of the samples. */
  value: number;
  /** (largest − smallest) / median of the samples; 0 for one sample. */
  noise: number;
  floor?: { what: string; samples: number[]; value: number };
  /** Median of the pairwise ratios to the floor, which cancels drift of the machine within the run. */
  ratio?: number;
  isReached?: boolean;
};

export function toFigureRow({ floor, ...figure }: Figure): FigureRow {
  const value = median(figure.samples);
  const row: FigureRow = { ...figure, value, noise: noiseOf(figure.samples) };
  if (floor) {
    row.floor = { ...floor, value: median(floor.samples) };
    row.ratio = median(
      figure.samples.map((sample, run) => sample / (floor.samples[run] ?? median(floor.samples))),
    );
  }
  if (figure.target) row.isReached = isReached(row, figure.target);
  return row;
}

function isReached({ value, ratio }: FigureRow, target: Target): boolean {
  const held = target.of === 'ratio' ? ratio : value;
  if (held === undefined) return false;
  return 'atLeast' in target ? held >= target.atLeast : held <= target.atMost;
}

export function median(samples: number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? upper)) / 2 : upper;
}

/** The value below which `share` (0 to 1) of the samples lie. */
export function percentile(samples: number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

function noiseOf(samples: number[]): number {
  const middle = median(samples);
  return middle === 0 ? 0 : (Math.max(...samples) - Math.min(...samples)) / middle;
}
