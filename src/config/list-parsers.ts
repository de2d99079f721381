import { parseParamNames } from '../kernel/param-names.ts';
import { parsedOrThrown, wholeNumber } from './setting-parsers.ts';

/** Pool limits of one chain: below `threshold` it is filled up to `target`; 0 < threshold <= target. */
export type AddressPool = { slip44: number; threshold: number; target: number };

/** Parses the names of the service's query parameters. */
export const paramNames = parsedOrThrown(parseParamNames);

const slip44Max = 2 ** 31 - 1;
const poolTargetMax = 1_000_000;

/** Parses `60:500:1000,195:50:200` (slip44:threshold:target). */
export const addressPools = parsedOrThrown((text): readonly AddressPool[] => {
  if (text.trim().toLowerCase() === 'none') return [];
  const pools = text.split(',').map(parsePool);
  if (new Set(pools.map((pool) => pool.slip44)).size < pools.length) {
    throw new Error('each chain only once');
  }
  return pools;
});

function parsePool(text: string): AddressPool {
  const parts = text.split(':').map((part) => part.trim());
  const slip44 = wholeNumber(parts[0] ?? '', 0, slip44Max);
  const threshold = wholeNumber(parts[1] ?? '', 1, poolTargetMax);
  const target = wholeNumber(parts[2] ?? '', threshold ?? 1, poolTargetMax);
  if (
    parts.length !== 3 ||
    slip44 === undefined ||
    threshold === undefined ||
    target === undefined
  ) {
    throw new Error('slip44:threshold:target, with 0 < threshold <= target, like 60:500:1000');
  }
  return { slip44, threshold, target };
}
