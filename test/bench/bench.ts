import type { Figure } from './figures.ts';

/** Tools that every part of the bench works with. */
export type Bench = {
  /** Two minutes for everything: smaller sizes, one run, one queue backend. */
  isQuick: boolean;
  /** Number of measurements of a figure: 3, or 1 when quick. */
  runs: number;
  /** Creates an empty database on the bench's own PostgreSQL and returns its connection string. */
  database(): Promise<string>;
  /** Drops one made by `database`, so that the disk holds one part's data at a time. */
  dropDatabase(connectionString: string): Promise<void>;
  /** Takes back, when the bench ends however it ends, what a part has opened; latest first. */
  onEnd(close: () => Promise<unknown> | unknown): void;
  /** Progress, on stderr. */
  say(line: string): void;
};

/** One part of the bench. */
export type BenchPart = {
  /** Letters of the figures that it measures. */
  letters: string;
  title: string;
  run(bench: Bench): Promise<Figure[]>;
};
