import { backoffScenario } from './backoff-scenario.ts';
import { fenceScenario } from './fence-scenario.ts';
import { poolScenario } from './pool-scenario.ts';
import { type RunOptions, runScenario, type ScenarioReport } from './run-scenario.ts';
import type { ScenarioName } from './scenario.ts';
import { walkScenario } from './walk-scenario.ts';
import { watchdogScenario } from './watchdog-scenario.ts';

/** Every scenario, to be run with the product's own decisions. */
export const allScenarios: Record<ScenarioName, (options: RunOptions) => Promise<ScenarioReport>> =
  {
    walk: (options) => runScenario(walkScenario, options),
    fence: (options) => runScenario(fenceScenario, options),
    pool: (options) => runScenario(poolScenario, options),
    watchdog: (options) => runScenario(watchdogScenario, options),
    backoff: (options) => runScenario(backoffScenario, options),
  };
