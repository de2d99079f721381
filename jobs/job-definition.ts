import type { Settings } from '../src/config/settings.ts';
import type { PassReport, SyncTools } from '../src/sync/sync-tools.ts';

/** A repeatable job: its name in the queue, the setting that holds its interval, and the work it calls. */
export type JobDefinition = {
  name: string;
  everyMs(schedule: Settings['schedule']): number | null;
  run(tools: SyncTools, signal: AbortSignal): Promise<PassReport>;
};
