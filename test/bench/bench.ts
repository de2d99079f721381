import type { Figure } from './figures.ts';

/** Context shared by every part of the bench. */
export type Bench = {
  /** At most two minutes in total: smaller sizes, one run, one queue backend. */
  isQuick: boolean;
  /** Number of measurements of a figure: 3, or 1 when quick. */
  runs: number;
  /** Creates an empty database on the bench's own PostgreSQL and returns its connection string. */
  database(): Promise<string>;
  /** Drops a database made by `database`, so that the disk holds one part's data at a time. */
  dropDatabase(connectionString: string): Promise<void>;
  /** Registers cleanup for the end of the bench, on success and failure; the latest runs first. */
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
