/**
 * A process of `npm run simulate`: argument 1 is its `Share`. Sends the report of each scenario once it has been
 * played.
 */
import { allScenarios } from './all-scenarios.ts';
import { runDays } from './run-scenario.ts';
import type { ScenarioName } from './scenario.ts';

/** Seeds from `seed` upward, one per interleaving; `days` 0: no simulated days. */
export type Share = { names: ScenarioName[]; seed: number; interleavings: number; days: number };

// Stack traces of errors that are part of the simulation would cost more than the simulation.
Error.stackTraceLimit = 0;

const { names, seed, interleavings, days }: Share = JSON.parse(process.argv[2] ?? '');
for (const name of names) {
  process.send?.(await allScenarios[name]({ seed, interleavings }));
  if (name === 'watchdog' && days > 0) process.send?.(await runDays(seed, days));
}
