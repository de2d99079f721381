import { setTimeout as delay } from 'node:timers/promises';
import { isUnreachable } from './postgres-codes.ts';

const againMs = 500;

/**
 * Runs a statement that frees what this process holds, because others wait for it. If the database cannot be reached,
 * retries in the background until `runsOutMs` have passed, when the others stop waiting anyway. Never rejects.
 */
export async function freeWhenReachable(
  free: () => Promise<unknown>,
  runsOutMs: number,
): Promise<void> {
  const runsOutAt = performance.now() + runsOutMs;
  const attempt = async (): Promise<void> => {
    try {
      await free();
    } catch (error) {
      if (isUnreachable(error) && performance.now() < runsOutAt)
        void delay(againMs, undefined, { ref: false }).then(attempt);
    }
  };
  await attempt();
}
