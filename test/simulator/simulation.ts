/**
 * One run of the world under a seed: a virtual clock, and a scheduler that decides at every call of a port which of
 * the waiting tasks goes on. Time passes only when nobody can go on, so a run takes as long as its decisions.
 *
 *   task ── enter() ──▶ waiting ── picked by the seed ──▶ runs until its next call
 *     └── sleep(ms) ──▶ timers ── nobody waits ─────────▶ the earliest fires
 *     └── killed ─────▶ never goes on: no catch, no finally, as after a power cut
 */
import { type SeededRandom, scrambledRandom } from '../support/seeded-random.ts';

/** A part of the world that can be killed: a daemon, or one of its passes. */
export type Task = { readonly name: string; isAlive: boolean; isEnded: boolean };

export type Simulation = {
  readonly seed: number;
  readonly random: SeededRandom;
  /** Virtual milliseconds since the run began, unaffected by clock jumps. */
  now(): number;
  /** A port call begins: continues when the scheduler picks it, and never if the task is dead. */
  enter(task: Task): Promise<void>;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** `fire` returns 'quiet' if it woke no task. */
  setTimer(ms: number, fire: Fire): number;
  clearTimer(id: number): void;
  start(name: string, work: (task: Task) => Promise<void>): Task;
  kill(task: Task): void;
  /** Continues until `isOver`, or until no task can run any more. */
  drive(isOver: () => boolean): Promise<void>;
  /** Called after every step. */
  onStep(check: () => void): void;
  violate(what: string): void;
  readonly violations: string[];
  steps(): number;
};

export type SimulationOptions = {
  /** Resolves when all microtasks have run; the default suffices where no streams are used. */
  drain?: () => Promise<void>;
  stepsMax?: number;
};

type Fire = () => undefined | 'quiet';
type Timer = { id: number; at: number; fire: Fire };

const afterMicrotasks = () => new Promise<void>((resolve) => process.nextTick(resolve));

export function createSimulation(seed: number, options: SimulationOptions = {}): Simulation {
  const { drain = afterMicrotasks, stepsMax = 200_000 } = options;
  const random = scrambledRandom(seed);
  const timers: Timer[] = [];
  const waiting: { task: Task; go: () => void }[] = [];
  const checks: (() => void)[] = [];
  const violations: string[] = [];
  let now = 0;
  let steps = 0;
  let timersMade = 0;

  const setTimer = (ms: number, fire: Fire): number => {
    timersMade += 1;
    push(timers, { id: timersMade, at: now + Math.max(0, ms), fire });
    return timersMade;
  };
  const clearTimer = (id: number): void => {
    const index = timers.findIndex((timer) => timer.id === id);
    if (index >= 0) timers.splice(index, 1);
  };

  function step(): 'woken' | 'quiet' | 'over' {
    const index = random.below(waiting.length);
    const [next] = waiting.splice(index, 1);
    if (next) {
      next.go();
      return 'woken';
    }
    const timer = timers.shift();
    if (!timer) return 'over';
    now = Math.max(now, timer.at);
    return timer.fire() ?? 'woken';
  }

  const simulation: Simulation = {
    seed,
    random,
    violations,
    now: () => now,
    steps: () => steps,
    setTimer,
    clearTimer,
    violate: (what) => {
      if (violations.length < 5) violations.push(what);
    },
    onStep: (check) => checks.push(check),
    enter: (task) =>
      new Promise((resolve) => {
        if (task.isAlive) waiting.push({ task, go: () => task.isAlive && resolve() });
      }),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const abort = () => {
          clearTimer(id);
          reject(signal?.reason);
        };
        const id = setTimer(ms, () => {
          signal?.removeEventListener('abort', abort);
          resolve();
          return undefined;
        });
        signal?.addEventListener('abort', abort, { once: true });
      }),
    start(name, work) {
      const task: Task = { name, isAlive: true, isEnded: false };
      const failed = (error: unknown) => simulation.violate(`${name} failed: ${String(error)}`);
      void work(task)
        .catch(failed)
        .finally(() => {
          task.isEnded = true;
        });
      return task;
    },
    kill(task) {
      task.isAlive = false;
      task.isEnded = true;
      for (let index = waiting.length - 1; index >= 0; index -= 1)
        if (waiting[index]?.task === task) waiting.splice(index, 1);
    },
    async drive(isOver) {
      for (let stepped: string = 'woken'; stepped !== 'over'; ) {
        if (stepped === 'woken') await drain();
        for (const check of checks) check();
        if (violations.length > 0 || isOver()) return;
        steps += 1;
        if (steps > stepsMax) return simulation.violate(`no end within ${stepsMax} steps`);
        stepped = step();
      }
    },
  };
  return simulation;
}

/** Keeps the timers in the order of their time, equal ones in the order of their creation. */
function push(timers: Timer[], timer: Timer): void {
  let low = 0;
  let high = timers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((timers[middle]?.at ?? 0) <= timer.at) low = middle + 1;
    else high = middle;
  }
  timers.splice(low, 0, timer);
}
