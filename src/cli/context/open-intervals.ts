import { hostname } from 'node:os';
import type { Log } from '../../kernel/log.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { type Intervals, readIntervals, setIntervals } from '../../ledger/interval-store.ts';
import type { RepeatableJob } from '../../queue/define-job.ts';

/**
 * Applies this daemon's intervals to all daemons of the queue: the daemon that started last decides. Returns a function
 * that reads the applied intervals, and warns once if a later daemon has set others.
 */
export async function openIntervals(
  ledger: Ledger,
  queue: string,
  jobs: RepeatableJob[],
  log: Log,
): Promise<() => Promise<Intervals>> {
  const own: Intervals = Object.fromEntries(jobs.map(({ name, everyMs }) => [name, everyMs]));
  const setBy = `${hostname()} ${process.pid}`;
  const replaced = await setIntervals(ledger.db, queue, { intervals: own, setBy });
  if (replaced) {
    const changes = differences(replaced.intervals, own);
    log.info({ changes, setBy: replaced.setBy }, 'the intervals of the jobs were changed');
  }
  let reported = '';
  return async () => {
    const stored = await readIntervals(ledger.db, queue);
    const changes = stored ? differences(own, stored.intervals).join() : '';
    if (stored && changes !== '' && changes !== reported) {
      log.warn(
        { changes: changes.split(','), setBy: stored.setBy },
        'a daemon that started later has set other intervals, which apply to all daemons; give all of them the same settings',
      );
    }
    reported = changes;
    return stored?.intervals ?? own;
  };
}

function differences(before: Intervals, after: Intervals): string[] {
  const words = (everyMs: number | null | undefined) =>
    everyMs === undefined ? 'none' : everyMs === null ? 'off' : `${everyMs / 1_000}s`;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => before[name] !== after[name])
    .map((name) => `${name} ${words(before[name])} -> ${words(after[name])}`);
}
