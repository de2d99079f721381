import type { ParamNames } from './vocabulary.ts';

/** Names that the service most likely uses. */
const usual: ParamNames = { page: 'pageNo', size: 'pageSize', chain: 'slip44', type: 'type' };

/** Pattern of a name that a query may carry as it is. */
export const paramName = /^[\w.~-]+$/;

/**
 * Parses `page=p,size=s`; parameters that are not named keep their default. Throws an Error whose message describes the
 * expected text.
 */
export function parseParamNames(text: string): ParamNames {
  const names = { ...usual };
  const given = new Set<string>();
  for (const pair of text.split(',')) {
    const [key = '', name = '', ...rest] = pair.split('=').map((part) => part.trim());
    if (!isParamKey(key) || given.has(key) || !paramName.test(name) || rest.length > 0) {
      throw new Error('page=…,size=…,chain=…,type=… (each at most once)');
    }
    given.add(key);
    names[key] = name;
  }
  if (new Set(Object.values(names)).size < 4) throw new Error('four names that differ');
  return names;
}

function isParamKey(key: string): key is keyof ParamNames {
  return Object.hasOwn(usual, key);
}
