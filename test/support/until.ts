import { setTimeout as delay } from 'node:timers/promises';

/** Waits until the condition holds; fails after `withinMs`. */
export async function until(condition: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition().catch(() => false))) {
    if (performance.now() > deadline)
      throw new Error(`not true within ${withinMs} ms: ${condition}`);
    await delay(50);
  }
}
