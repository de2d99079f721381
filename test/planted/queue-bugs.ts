import type { PlantedBug } from './planted-bug.ts';

const queue = 'test/queue/start-queue.test.ts';
const schedules = 'test/queue/decide-schedule-repair.test.ts';

/** Mistakes in keeping the daemon going, and in ending it. */
export const queueBugs: PlantedBug[] = [
  {
    id: 'watchdog-blind',
    promise: 'Schedules come back',
    wrong: 'the watchdog looks after the worker and leaves lost schedules lost',
    file: 'src/queue/start-queue.ts',
    find: '      await checkSchedules();\n      // The backend',
    put: '      // The backend',
    caughtBy: {
      file: queue,
      name: 'has its schedules back after everything in the queue was lost',
    },
  },
  {
    id: 'run-lost-schedule-stands',
    promise: 'Schedules come back',
    wrong: 'a schedule whose next run has vanished counts as well',
    file: 'src/queue/decide-schedule-repair.ts',
    find: "if (stored.everyMs !== everyMs || stored.nextJob === 'absent') return 'put';",
    put: "if (stored.everyMs !== everyMs) return 'put';",
    caughtBy: {
      file: schedules,
      name: 'has exactly the wanted schedules, each with a run ahead, two passes after any disturbance',
    },
  },
  {
    id: 'removed-job-stays',
    promise: 'Schedules come back',
    wrong: 'the schedule of a job that is gone keeps coming',
    file: 'src/queue/decide-schedule-repair.ts',
    find: '.filter((schedule) => !wantedNames.has(schedule.name))',
    put: '.filter((schedule) => !wantedNames.has(schedule.name) && schedule.nextRunAt === null)',
    caughtBy: { file: schedules, name: 'removes what is not wanted' },
  },
  {
    id: 'stop-drops-work',
    promise: 'A stop is a stop',
    wrong: 'the queue closes without waiting for the jobs that run',
    file: 'src/queue/start-queue.ts',
    find: 'worker.close(Math.max(deadlineMs - disconnectMs, deadlineMs / 2));',
    put: 'worker.close(Math.min(deadlineMs - disconnectMs, 0));',
    caughtBy: { file: queue, name: 'aborts a running job when it closes, and waits for it' },
  },
  {
    id: 'stop-not-told',
    promise: 'A stop is a stop',
    wrong: 'running jobs are waited for and not told to end',
    file: 'src/queue/run-jobs.ts',
    find: "for (const controller of running.keys()) controller.abort(interruption('stopping'));",
    put: 'if (running.size === 0) return;',
    caughtBy: { file: queue, name: 'aborts a running job when it closes, and waits for it' },
  },
  {
    id: 'stop-unheard',
    promise: 'A stop is a stop',
    wrong: 'a database that stops together with the daemon turns its end into a failure',
    file: 'src/queue/listen-client.ts',
    find: "      this.on('error', () => undefined);\n      return super.end();",
    put: '      return super.end();',
    caughtBy: {
      file: 'test/queue/queue-troubles.test.ts',
      name: 'ends no process when the server ends it while it is being closed',
    },
  },
  {
    id: 'listener-unheard',
    promise: 'Convergent',
    wrong: 'a listening connection that ends in the moment it is ready is taken for a good one',
    file: 'src/queue/listen-client.ts',
    find: 'if (this.lost) throw this.lost;',
    put: 'if (this.lost) this.lost = null;',
    caughtBy: {
      file: 'test/queue/queue-troubles.test.ts',
      name: 'ends no process when the server ends it in the moment it is ready, and is opened anew',
    },
  },
  {
    id: 'lock-kept-while-closing',
    promise: 'Schedules come back',
    wrong: 'a process that closes keeps the lock on schedules, and no other can repair them',
    file: 'src/queue/connect-postgres-queue.ts',
    find: "  closing.addEventListener('abort', giveUp, { once: true });\n",
    put: '',
    caughtBy: {
      file: 'test/queue/queue-troubles.test.ts',
      name: 'is given back by a process that closes while it holds it',
    },
  },
];
