/** The queue's schedules as BullMQ keeps them, and workers that take due jobs. The jobs do nothing. */
import type { Simulation } from './simulation.ts';

/** A schedule as `getJobSchedulers` returns it, and the id of the job of its next run. */
type Schedule = { key: string; every: number; next: number; nextId: string };
type QueuedJob = { name: string; at: number; state: 'delayed' | 'active'; since: number };

/** BullMQ returns the job of a dead worker to the queue after this time. */
const stalledMs = 120_000;

export class ModelQueue {
  readonly schedules = new Map<string, Schedule>();
  readonly jobs = new Map<string, QueuedJob>();
  readonly sim: Simulation;
  /** Wall time minus simulated time; clock jumps change it. */
  offsetMs = 1_700_000_000_000;
  workers = 0;
  runs = 0;
  /** Called when the next job is taken, before it has scheduled its next run; true: its worker dies. */
  diesAtTake: () => boolean = () => false;
  #timer: number | null = null;

  constructor(sim: Simulation) {
    this.sim = sim;
  }

  wall(): number {
    return this.sim.now() + this.offsetMs;
  }

  jump(ms: number): void {
    this.offsetMs += ms;
    this.arm();
  }

  flush(): void {
    this.schedules.clear();
    this.jobs.clear();
    this.arm();
  }

  /** Removes waiting and delayed jobs, but not their schedules. */
  drain(): void {
    for (const [id, job] of this.jobs) if (job.state === 'delayed') this.jobs.delete(id);
    this.arm();
  }

  upsert(name: string, every: number, startDate: number): void {
    const old = this.schedules.get(name);
    const isWaiting = old && this.jobs.get(old.nextId)?.state === 'delayed';
    if (old?.every === every && isWaiting) return;
    if (isWaiting) this.jobs.delete(old.nextId);
    const now = this.wall();
    const following = old?.every === every ? old.next + every : Math.max(startDate, now);
    this.#put(name, every, following < now ? now + 2 * every : following);
    this.arm();
  }

  remove(name: string): void {
    const old = this.schedules.get(name);
    this.schedules.delete(name);
    if (old && this.jobs.get(old.nextId)?.state === 'delayed') this.jobs.delete(old.nextId);
    this.arm();
  }

  /** Ids of the jobs in these states. */
  idsIn(states: string[]): string[] {
    return [...this.jobs].flatMap(([id, { state }]) => (states.includes(state) ? [id] : []));
  }

  add(name: string, id: string): void {
    if (this.jobs.has(id)) return;
    this.jobs.set(id, { name, at: this.wall(), state: 'delayed', since: 0 });
    this.arm();
  }

  #put(key: string, every: number, next: number): void {
    const nextId = idOf(key, next);
    this.schedules.set(key, { key, every, next, nextId });
    if (!this.jobs.has(nextId))
      this.jobs.set(nextId, { name: key, at: next, state: 'delayed', since: 0 });
  }

  /** Sets the one timer to the time of the first job. */
  arm(): void {
    if (this.#timer !== null) this.sim.clearTimer(this.#timer);
    this.#timer = null;
    if (this.workers === 0) return;
    let first = Number.POSITIVE_INFINITY;
    for (const job of this.jobs.values()) first = Math.min(first, dueAt(job));
    if (first === Number.POSITIVE_INFINITY) return;
    this.#timer = this.sim.setTimer(first - this.wall(), () => this.#work());
  }

  #work(): 'quiet' {
    this.#timer = null;
    const now = this.wall();
    for (const [id, job] of [...this.jobs]) {
      if (dueAt(job) > now || this.workers === 0) continue;
      if (this.diesAtTake()) Object.assign(job, { state: 'active', since: now });
      else this.#run(id, job, now);
    }
    this.arm();
    return 'quiet';
  }

  #run(id: string, job: QueuedJob, now: number): void {
    this.runs += 1;
    this.jobs.delete(id);
    const schedule = this.schedules.get(job.name);
    if (!schedule || id !== schedule.nextId) return;
    const { every, next } = schedule;
    this.#put(job.name, every, Math.max(next + every, now));
  }
}

function dueAt({ state, at, since }: QueuedJob): number {
  return state === 'delayed' ? at : since + stalledMs;
}

/** BullMQ's id for the job of a schedule's next run. */
function idOf(name: string, next: number): string {
  return `repeat:${name}:${next}`;
}
