import type { PlantedBug } from './planted-bug.ts';

/** Mistakes in keeping the daemon going, and in ending it. */
export const queueBugs: PlantedBug[] = [
  {
    id: 'watchdog-blind',
    promise: 'Schedules come back',
    wrong: 'the watchdog looks after the worker and leaves lost schedules lost',
    in: 'startQueue',
    find: 'await checkSchedules();',
    put: '',
    caughtBy: 'has its schedules back after everything in the queue was lost',
  },
  {
    id: 'run-lost-schedule-stands',
    promise: 'Schedules come back',
    wrong: 'a schedule whose next run has vanished counts as well',
    in: 'decideOne',
    find: "|| stored.nextJob === 'absent'",
    put: '',
    caughtBy:
      'has exactly the wanted schedules, each with a run ahead, two passes after any disturbance',
  },
  {
    id: 'removed-job-stays',
    promise: 'Schedules come back',
    wrong: 'the schedule of a job that is gone keeps coming',
    in: 'decideScheduleRepair',
    find: '!wantedNames.has(schedule.name)',
    put: '!wantedNames.has(schedule.name) && schedule.nextRunAt === null',
    caughtBy: 'removes what is not wanted',
  },
  {
    id: 'stop-drops-work',
    promise: 'A stop is a stop',
    wrong: 'the queue closes without waiting for the jobs that run',
    in: 'startQueue',
    find: 'Math.max(deadlineMs - disconnectMs, deadlineMs / 2)',
    put: 'Math.min(deadlineMs - disconnectMs, 0)',
    caughtBy: 'aborts a running job when it closes, and waits for it',
  },
  {
    id: 'stop-not-told',
    promise: 'A stop is a stop',
    wrong: 'running jobs are waited for and not told to end',
    in: 'createJobRunner',
    find: "for (const controller of running.keys()) controller.abort(interruption('stopping'))",
    put: 'if (running.size === 0) return',
    caughtBy: 'aborts a running job when it closes, and waits for it',
  },
  {
    id: 'stop-unheard',
    promise: 'A stop is a stop',
    wrong: 'a database that stops together with the daemon turns its end into a failure',
    in: 'listenClientOf',
    find: "this.on('error', () => undefined);",
    put: '',
    caughtBy: 'ends no process when the server ends it while it is being closed',
  },
  {
    id: 'listener-unheard',
    promise: 'Convergent',
    wrong: 'a listening connection that ends in the moment it is ready is taken for a good one',
    in: 'listenClientOf',
    find: 'throw this.lost',
    put: 'this.lost = null',
    caughtBy:
      'ends no process when the server ends it in the moment it is ready, and is opened anew',
  },
  {
    id: 'lock-kept-while-closing',
    promise: 'Schedules come back',
    wrong: 'a process that closes keeps the lock on schedules, and no other can repair them',
    in: 'untilClosing',
    find: "closing.addEventListener('abort', giveUp, { once: true });",
    put: '',
    caughtBy: 'is given back by a process that closes while it holds it',
  },
];
