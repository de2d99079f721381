/**
 * Daemons that share a queue: the product's watchdog and its repairs, while the queue is flushed, drained and blocked,
 * clocks jump and daemons die.
 */
import { keepSchedules } from '../../src/queue/keep-schedules.ts';
import type { JobQueue } from '../../src/queue/open-queue.ts';
import type { QueueBackend } from '../../src/queue/queue-backend.ts';
import { startWatchdog } from '../../src/queue/watchdog.ts';
import { defaultJobs } from './default-jobs.ts';
import { ModelQueue } from './model-queue.ts';
import { quietLog } from './quiet-log.ts';
import type { Scenario } from './scenario.ts';
import { createSimulation, type Simulation, type Task } from './simulation.ts';
import { letTimeBe } from './virtual-time.ts';

export type WatchdogDecisions = { keepSchedules: typeof keepSchedules };

const watchdogMs = 15_000;
/** Time limit of a hanging pass. */
const hangMs = 60_000;
/** Upper bound (ms) of the time for which a dead worker holds a job before its schedule is corrected. */
const abandonedMs = 180_000;
const dayMs = 86_400_000;

const jobs = defaultJobs();

type Options = {
  durationMs: number;
  daemons: number;
  /** Mean time between disturbances. */
  calmMs: number;
  /** True if other tasks may act between any two calls of a pass; otherwise a pass is one step. */
  isFine: boolean;
};

class WatchdogWorld {
  readonly queue: ModelQueue;
  readonly sim: Simulation;
  readonly options: Options;
  readonly decisions: WatchdogDecisions;
  readonly #daemons = new Map<Task, () => void>();
  #disturbedUntil = 0;
  #locked: Task | null = null;
  #abandonedUntil = 0;

  constructor(sim: Simulation, options: Options, decisions: WatchdogDecisions) {
    this.sim = sim;
    this.options = options;
    this.decisions = decisions;
    this.queue = new ModelQueue(sim);
    this.queue.offsetMs += sim.random.below(dayMs);
  }

  startDaemon(): void {
    const { sim, decisions, queue } = this;
    const task: Task = { name: `daemon ${sim.random.below(1_000)}`, isAlive: true, isEnded: false };
    const context = {
      queue: this.#queueOf(task) as unknown as JobQueue,
      backend: this.#backendOf(task) as QueueBackend,
      jobs,
      log: quietLog,
      onFault: () => undefined,
      clock: () => queue.wall(),
      cleanFailed: async () => undefined,
    };
    const pass = () => decisions.keepSchedules(context);
    void pass().catch(() => undefined);
    const watchdog = startWatchdog(watchdogMs, pass, () => undefined);
    this.#daemons.set(task, watchdog.stop);
    queue.workers += 1;
    queue.arm();
    this.#disturb(0);
  }

  #kill(): void {
    const [task] = this.#daemons.keys();
    if (!task) return;
    this.sim.kill(task);
    this.#daemons.get(task)?.();
    this.#daemons.delete(task);
    this.queue.workers -= 1;
    if (this.#locked === task) this.#locked = null;
    this.#disturb(0);
    const backMs = this.sim.random.below(300_000);
    this.sim.setTimer(backMs, () => {
      this.startDaemon();
      return undefined;
    });
  }

  /** From now on, and for `ms` more, the schedules may be wrong. */
  #disturb(ms: number): void {
    this.#disturbedUntil = Math.max(this.#disturbedUntil, this.sim.now() + ms);
  }

  disturbLater(): void {
    const { sim, options } = this;
    sim.setTimer(sim.random.below(2 * options.calmMs), () => {
      this.#befall();
      this.disturbLater();
      return undefined;
    });
  }

  #befall(): void {
    const { queue, sim } = this;
    const { random } = sim;
    this.#disturb(0);
    const what = random.below(8);
    if (what === 0) queue.flush();
    if (what === 1) queue.drain();
    if (what === 2) queue.jump(3_600_000);
    if (what === 3) queue.jump(-3_600_000);
    if (what === 4) this.#kill();
    if (what === 5) queue.upsert('job-of-old', 1_000 + random.below(100_000), queue.wall());
    if (what === 6) queue.remove(random.pick(['sync-details', 'fill-pools', 'sync-coins']));
    if (what === 7) this.#dieAtNextTake();
  }

  #dieAtNextTake(): void {
    this.queue.diesAtTake = () => {
      this.queue.diesAtTake = () => false;
      this.#kill();
      this.#abandonedUntil = this.sim.now() + abandonedMs + 3 * watchdogMs;
      return true;
    };
  }

  /**
   * Two watchdog periods after the last disturbance each schedule has exactly one next run, and no other schedule
   * exists.
   */
  check(): void {
    const { sim } = this;
    const isDue = sim.now() > this.#disturbedUntil + 2 * watchdogMs + 1;
    if (!isDue || this.#daemons.size === 0 || sim.now() < this.#abandonedUntil) return;
    const wrong = this.#wrongSchedule() ?? this.#surplus();
    if (wrong) sim.violate(wrong);
  }

  #wrongSchedule(): string | undefined {
    const { queue } = this;
    const now = queue.wall();
    if (queue.schedules.size !== jobs.length)
      return `${queue.schedules.size} schedules instead of ${jobs.length}`;
    for (const { name, everyMs } of jobs) {
      const schedule = queue.schedules.get(name);
      if (!schedule) return `${name} has no schedule`;
      if (schedule.every !== everyMs) return `the schedule of ${name} has another interval`;
      if (!queue.jobs.has(schedule.nextId)) return `the schedule of ${name} has no run`;
      if (schedule.next > now + 2 * everyMs) return `the schedule of ${name} is silent too long`;
    }
    return undefined;
  }

  /** A second next run of one schedule. */
  #surplus(): string | undefined {
    const { queue } = this;
    if (queue.jobs.size <= jobs.length) return undefined;
    for (const [id, { name, state }] of queue.jobs) {
      const schedule = queue.schedules.get(name);
      const isAhead = schedule && id === schedule.nextId;
      const isOurs = jobs.some((job) => job.name === name);
      if (!isAhead && isOurs && state === 'delayed' && !id.startsWith('nudge-'))
        return `the schedule of ${name} has a second run: ${id}`;
    }
    return undefined;
  }

  /** A call to the queue: it may be slow, fail, or never be answered. */
  async #call<T>(task: Task, mayHang: boolean, work: () => T): Promise<T> {
    const { sim, options } = this;
    if (!task.isAlive) return await new Promise(() => undefined);
    if (!options.isFine) return work();
    await sim.enter(task);
    if (sim.random.chance(0.004)) {
      this.#disturb(0);
      throw new Error('connection lost');
    }
    if (mayHang && sim.random.chance(0.002)) {
      this.#disturb(hangMs + watchdogMs);
      return await new Promise(() => undefined);
    }
    return work();
  }

  #queueOf(task: Task) {
    const { queue } = this;
    return {
      getJobSchedulers: () =>
        this.#call(task, this.#locked !== task, () => [...queue.schedules.values()]),
      getRanges: (types: string[]) =>
        this.#call(task, this.#locked !== task, () => queue.idsIn(types)),
      getJobState: (id: string) =>
        this.#call(task, false, () => queue.jobs.get(id)?.state ?? 'unknown'),
      removeJobScheduler: (name: string) => this.#call(task, false, () => queue.remove(name)),
      upsertJobScheduler: (
        name: string,
        { every, startDate }: { every: number; startDate: number },
      ) => this.#call(task, false, () => queue.upsert(name, every, startDate)),
      add: (name: string, _data: unknown, { jobId }: { jobId: string }) =>
        this.#call(task, false, () => queue.add(name, jobId)),
      clean: () => this.#call(task, true, () => undefined),
    };
  }

  #backendOf(task: Task): Partial<QueueBackend> {
    return {
      exclusively: async (work) => {
        while (this.#locked !== null) await this.sim.sleep(100);
        // A process that died while waiting acquires no lock.
        if (!task.isAlive) return await new Promise(() => undefined);
        this.#locked = task;
        try {
          return await work();
        } finally {
          if (this.#locked === task) this.#locked = null;
        }
      },
      checkClocks: () => this.#call(task, false, () => undefined),
    };
  }
}

async function playWith(seed: number, decisions: WatchdogDecisions, options: Options) {
  const sim = createSimulation(seed, { stepsMax: Number.POSITIVE_INFINITY });
  letTimeBe(sim);
  const world = new WatchdogWorld(sim, options, decisions);
  for (let n = 0; n < options.daemons; n += 1) world.startDaemon();
  world.disturbLater();
  // A year has ten million steps; a persistent fault is found at the eighth check as well.
  const checkedEvery = options.isFine ? 1 : 8;
  sim.onStep(() => {
    if (sim.steps() % checkedEvery === 0) world.check();
  });
  await sim.drive(() => sim.now() > options.durationMs);
  return { sim, runs: world.queue.runs };
}

export const watchdogScenario: Scenario<WatchdogDecisions> = {
  name: 'watchdog',
  decisions: { keepSchedules },
  async play(seed, decisions) {
    const options = { durationMs: 90_000, daemons: 2, calmMs: 25_000, isFine: true };
    return (await playWith(seed, decisions, options)).sim;
  },
};

/** Days of scheduling with one seed and a disturbance about every hour. */
export async function playDays(seed: number, days: number, decisions = watchdogScenario.decisions) {
  const options = { durationMs: days * dayMs, daemons: 2, calmMs: 3_600_000, isFine: false };
  return await playWith(seed, decisions, options);
}
