import type { StatusReport } from '../../status/status-report.ts';

type Sample = { labels: Record<string, string>; value: number };

/** Gauge with the function that derives its samples from the status. */
export type StatusGauge = {
  name: string;
  help: string;
  labelNames?: string[];
  samples(status: StatusReport): Sample[];
};
