import type { Clock } from '../../kernel/clock.ts';
import type { RequestParts } from './build-request.ts';

/** Requests whose answer was accepted although it is odd; the next time it is taken at once. */
type OddMemory = { add(request: RequestParts): void; has(request: RequestParts): boolean };

/** After this time the answer has to come several times in a row again. */
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
      // As a rule there is none: the key is not worth making.
      return until.size > 0 && (until.get(keyOf(request)) ?? 0) > clock();
    },
  };
}

function keyOf({ path, query }: RequestParts): string {
  return JSON.stringify([path, query]);
}
