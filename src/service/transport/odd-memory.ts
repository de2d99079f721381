import type { Clock } from '../../kernel/clock.ts';
import type { RequestParts } from './build-request.ts';

/** Requests whose odd answer was accepted; their next odd answer is accepted at once. */
export type OddMemory = { add(request: RequestParts): void; has(request: RequestParts): boolean };

/** Time after which the odd answer has to come several times in a row again. */
const keptMs = 3_600_000;
const keptMax = 1_000;

export function createOddMemory(clock: Clock): OddMemory {
  const until = new Map<string, number>();
  return {
    add(request) {
      const [oldest] = until.keys();
      if (until.size >= keptMax && oldest !== undefined) until.delete(oldest);
      until.set(keyOf(request), clock() + keptMs);
    },
    has(request) {
      // Skips building the key while the map is empty, as it usually is.
      return until.size > 0 && (until.get(keyOf(request)) ?? 0) > clock();
    },
  };
}

function keyOf({ path, query }: RequestParts): string {
  return JSON.stringify([path, query]);
}
