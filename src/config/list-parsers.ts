import type { ParamNames } from '../kernel/vocabulary.ts';
import { parsedOrThrown, wholeNumber } from './setting-parsers.ts';

/** Pool limits of one chain: below `threshold` it is filled up to `target`; 0 < threshold <= target. */
export type AddressPool = { slip44: number; threshold: number; target: number };

const paramNamesDefault: ParamNames = {
  page: 'pageNo',
  size: 'pageSize',
  chain: 'slip44',
  type: 'type',
};

/** Parses `page=p,size=s`; parameters that are not named keep their default. */
export const paramNames = parsedOrThrown((text): ParamNames => {
  const names = { ...paramNamesDefault };
  const given = new Set<string>();
  for (const pair of text.split(',')) {
    const [key = '', name = '', ...rest] = pair.split('=').map((part) => part.trim());
    if (!isParamKey(key) || given.has(key) || !/^[\w.~-]+$/.test(name) || rest.length > 0) {
      throw new Error('page=…,size=…,chain=…,type=… (each at most once)');
    }
    given.add(key);
    names[key] = name;
  }
  if (new Set(Object.values(names)).size < 4) throw new Error('four names that differ');
  return names;
});

const slip44Max = 2 ** 31 - 1;
const poolTargetMax = 1_000_000;

/** Parses `60:500:1000,195:50:200` (slip44:threshold:target). */
export const addressPools = parsedOrThrown((text): readonly AddressPool[] => {
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

function isParamKey(key: string): key is keyof ParamNames {
  return Object.hasOwn(paramNamesDefault, key);
}
