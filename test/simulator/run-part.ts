import type { Part, PartName } from './part.ts';
import type { Simulation } from './simulation.ts';
import { letTimeBe, withVirtualTime } from './virtual-time.ts';
import { playDays, type WatchdogDecisions } from './watchdog-part.ts';

export type RunOptions = { seed: number; interleavings: number };

export type PartReport = {
  part: PartName | 'days';
  interleavings: number;
  /** Virtual milliseconds, all runs together. */
  simulatedMs: number;
  steps: number;
  tookMs: number;
  /** Processor time, which others on the machine do not lengthen. */
  processorMs: number;
  /** The first run that broke a promise; its seed replays it. */
  failure: { seed: number; violations: string[] } | null;
};

/** Plays the part under as many seeds as asked for, from `seed` upward, until one breaks a promise. */
export async function runPart<D>(
  part: Part<D>,
  { seed, interleavings }: RunOptions,
  wrong: Partial<D> = {},
): Promise<PartReport> {
  const decisions = { ...part.decisions, ...wrong };
  return await measured(part.name, async (note) => {
    for (let played = 0; played < interleavings; played += 1) {
      const sim = await part.play(seed + played, decisions);
      letTimeBe(undefined);
      if (note(sim)) return;
      // Node's own loop is to turn now and then: garbage is collected and signals are heard.
      if (played % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  });
}

/** Simulated days of the daemon's schedules under one seed. */
export async function runDays(
  seed: number,
  days: number,
  wrong?: WatchdogDecisions,
): Promise<PartReport> {
  return await measured('days', async (note) => {
    note((await playDays(seed, days, wrong)).sim);
  });
}

/** `note` takes a run that has ended, and tells whether it broke a promise. */
async function measured(
  part: PartReport['part'],
  work: (note: (sim: Simulation) => boolean) => Promise<void>,
): Promise<PartReport> {
  const cpu = process.cpuUsage();
  const startedAt = process.hrtime.bigint();
  const sums = { interleavings: 0, simulatedMs: 0, steps: 0 };
  let failure: PartReport['failure'] = null;
  await withVirtualTime(() =>
    work((sim) => {
      sums.interleavings += 1;
      sums.simulatedMs += sim.now();
      sums.steps += sim.steps();
      if (sim.violations.length > 0) failure = { seed: sim.seed, violations: sim.violations };
      return failure !== null;
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  const tookMs = Number(process.hrtime.bigint() - startedAt) / 1e6;
  return { part, ...sums, tookMs, processorMs: (user + system) / 1e3, failure };
}
