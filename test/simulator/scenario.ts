import type { Simulation } from './simulation.ts';

export type ScenarioName = 'walk' | 'fence' | 'pool' | 'watchdog' | 'backoff';

/** One class of scenarios. `D`: the product's decisions in it, so that a wrong one can be planted. */
export type Scenario<D> = {
  name: ScenarioName;
  decisions: D;
  /** Builds a world from the seed, plays it to its end and records every violation in the simulation. */
  play(seed: number, decisions: D): Promise<Simulation>;
};
