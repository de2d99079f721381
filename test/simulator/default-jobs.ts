import { allJobs } from '../../jobs/all-jobs.ts';
import { parseSettings } from '../../src/config/parse-settings.ts';
import type { ScheduledJob } from '../../src/queue/define-job.ts';

/** The daemon's jobs at their default intervals; they do nothing here. */
export function defaultJobs(): ScheduledJob[] {
  const { schedule } = parseSettings({}, () => '');
  return allJobs.flatMap((job, index) => {
    const everyMs = job.everyMs(schedule);
    const run = async () => undefined;
    return everyMs === null ? [] : [{ name: job.name, everyMs, offsetMs: index * 250, run }];
  });
}
