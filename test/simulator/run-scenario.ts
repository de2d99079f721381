import type { Scenario, ScenarioName } from './scenario.ts';
import type { Simulation } from './simulation.ts';
import { letTimeBe, withVirtualTime } from './virtual-time.ts';
import { playDays, type WatchdogDecisions } from './watchdog-scenario.ts';

export type RunOptions = { seed: number; interleavings: number };

export type ScenarioReport = {
  scenario: ScenarioName | 'days';
  interleavings: number;
  /** Virtual milliseconds of all runs together. */
  simulatedMs: number;
  steps: number;
  tookMs: number;
  /** Processor time, which other load on the machine does not lengthen. */
  processorMs: number;
  /** The first run that broke a guarantee; its seed replays it. */
  failure: { seed: number; violations: string[] } | null;
};

/** Plays the scenario with as many seeds as requested, from `seed` upward, until one breaks a guarantee. */
export async function runScenario<D>(
  scenario: Scenario<D>,
  { seed, interleavings }: RunOptions,
  wrong: Partial<D> = {},
): Promise<ScenarioReport> {
  const decisions = { ...scenario.decisions, ...wrong };
  return await measured(scenario.name, async (note) => {
    for (let played = 0; played < interleavings; played += 1) {
      const sim = await scenario.play(seed + played, decisions);
      letTimeBe(undefined);
      if (note(sim)) return;
      // Node's own loop must run now and then, for garbage collection and signals.
      if (played % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  });
}

/** Simulated days of the daemon's schedules under one seed. */
export async function runDays(
  seed: number,
  days: number,
  wrong?: WatchdogDecisions,
): Promise<ScenarioReport> {
  return await measured('days', async (note) => {
    note((await playDays(seed, days, wrong)).sim);
  });
}

/** `note` records a run that has ended, and returns true if it broke a guarantee. */
async function measured(
  scenario: ScenarioReport['scenario'],
  work: (note: (sim: Simulation) => boolean) => Promise<void>,
): Promise<ScenarioReport> {
  const cpu = process.cpuUsage();
  const startedAt = process.hrtime.bigint();
  const sums = { interleavings: 0, simulatedMs: 0, steps: 0 };
  let failure: ScenarioReport['failure'] = null;
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
  return { scenario, ...sums, tookMs, processorMs: (user + system) / 1e3, failure };
}
