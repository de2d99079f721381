import type { Ledger } from '../../src/ledger/connect-ledger.ts';
import type { ModelPool } from './model-pool.ts';
import type { Simulation, Task } from './simulation.ts';

/** Who shows itself to the database. */
type Presences = {
  instance: string;
  show(): string;
  isShown(name: string): boolean;
  hide(name: string): void;
};

/** The product's ledger over the modelled rows: every statement and every transaction is one step of the task. */
export function poolLedger(
  sim: Simulation,
  pool: ModelPool,
  task: Task,
  { instance, show, isShown, hide }: Presences,
): Ledger {
  const step = async <T>(work: () => T): Promise<T> => {
    await sim.enter(task);
    return work();
  };
  const within = { execute: async (statement: never) => pool.execute(statement) };
  const ledger = {
    instance,
    db: { execute: (statement: never) => step(() => pool.execute(statement)) },
    async transaction(work: (db: unknown) => Promise<unknown>) {
      await sim.enter(task);
      const result = await pool.atomically(() => work(within));
      // A process may die after the commit and never hear of it.
      await sim.enter(task);
      return result;
    },
    announce: async () => {
      const name = await step(show);
      return { name, isHeld: () => isShown(name), end: () => step(() => hide(name)) };
    },
  };
  return ledger as unknown as Ledger;
}
