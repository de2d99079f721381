/**
 * Runs Node's own timers on the clock of a simulation, so that the product's sleeps, deadlines and watchdog run
 * unchanged. Only Node is replaced, none of our code.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { Simulation } from './simulation.ts';

let current: Simulation | undefined;

/** Runs `work` with Node's timers assigned to the simulation that `letTimeBe` named last. */
export async function withVirtualTime<T>(work: () => Promise<T>): Promise<T> {
  const promises = createRequire(import.meta.url)('node:timers/promises');
  const real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    now: performance.now,
    timeout: AbortSignal.timeout,
    delay: promises.setTimeout,
    turn: promises.setImmediate,
  };
  const setVirtual = (fire: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    current
      ? current.setTimer(ms, () => {
          fire(...args);
          return undefined;
        })
      : real.setTimeout(fire, ms, ...args);
  const clearVirtual = (id: never) =>
    typeof id === 'number' && current ? current.clearTimer(id) : real.clearTimeout(id);
  promises.setTimeout = (ms: number, value: unknown, options?: { signal?: AbortSignal }) =>
    current ? current.sleep(ms, options?.signal).then(() => value) : real.delay(ms, value, options);
  promises.setImmediate = () => (current ? current.sleep(0) : real.turn());
  Object.assign(globalThis, { setTimeout: setVirtual, clearTimeout: clearVirtual });
  performance.now = () => current?.now() ?? real.now.call(performance);
  AbortSignal.timeout = (ms) => (current ? virtualTimeout(current, ms) : real.timeout(ms));
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    current = undefined;
    promises.setTimeout = real.delay;
    promises.setImmediate = real.turn;
    Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout });
    performance.now = real.now;
    AbortSignal.timeout = real.timeout;
    syncBuiltinESMExports();
  }
}

/** Uses the time of this simulation from now on; undefined: Node's own. */
export function letTimeBe(simulation: Simulation | undefined): void {
  current = simulation;
}

function virtualTimeout(simulation: Simulation, ms: number): AbortSignal {
  const controller = new AbortController();
  simulation.setTimer(ms, () => {
    controller.abort(new DOMException('timeout', 'TimeoutError'));
    return undefined;
  });
  return controller.signal;
}
