import type { Settings } from '../src/config/settings.ts';
import type { SyncContext, SyncReport } from '../src/sync/sync-context.ts';

/**
 * A repeatable job: its name in the queue, the setting with its interval (ms; null: off), and the task that it runs.
 */
export type JobDefinition = {
  name: string;
  everyMs(schedule: Settings['schedule']): number | null;
  run(context: SyncContext, signal: AbortSignal): Promise<SyncReport>;
};
