/** Finds the name of a parameter by its effect: with another value, the service shows other rows. */
import { openListPage, type RawPage } from '../../service/decoding/open-page.ts';
import type { Answered } from './ask-service.ts';

/** Signed requests with one signer. */
export type Ask = (path: string, query: Query) => Promise<Answered>;
export type Query = [string, string][];

/**
 * Finds the name of a filter: with it, the first value is accepted, and the second one is refused or shows other rows.
 * Halves the names, each half with one of the values, until one is left. If both values give the same answer, the
 * filter may still be required: then it is the name without which the service refuses.
 */
export async function findFilter(
  ask: Ask,
  path: string,
  names: readonly string[],
  [own, other]: [string, string],
): Promise<string | null> {
  const filter = (some: readonly string[], value: string): Query =>
    some.map((name) => [name, value]);
  const withOwn = await ask(path, filter(names, own));
  const withOther = await ask(path, filter(names, other));
  if (!('data' in withOwn)) return await findAlone(ask, path, names, [own, other]);
  if (!isSame(withOwn, withOther))
    return await halve(names, async (half, rest) =>
      isSame(await ask(path, [...filter(half, own), ...filter(rest, other)]), withOwn),
    );
  if ('data' in (await ask(path, []))) return null;
  return await halve(names, async (half) => 'data' in (await ask(path, filter(half, own))));
}

/** Halves the names until one is left; `isInHalf` tells whether the wanted one is in the first of two halves. */
export async function halve(
  names: readonly string[],
  isInHalf: (half: readonly string[], rest: readonly string[]) => Promise<boolean>,
): Promise<string | null> {
  let left = names;
  while (left.length > 1) {
    const half = left.slice(0, left.length / 2);
    const rest = left.slice(half.length);
    left = (await isInHalf(half, rest)) ? half : rest;
  }
  return left[0] ?? null;
}

/**
 * Tries the names one at a time. If a service refuses unknown names, the only accepted one is the filter, even without
 * effect.
 */
async function findAlone(
  ask: Ask,
  path: string,
  names: readonly string[],
  [own, other]: [string, string],
): Promise<string | null> {
  const accepted: string[] = [];
  let isAnyRefused = false;
  for (const name of names) {
    const withOwn = await ask(path, [[name, own]]);
    if (!('data' in withOwn)) isAnyRefused = true;
    else if (isSame(withOwn, await ask(path, [[name, other]]))) accepted.push(name);
    else return name;
    if (isAnyRefused && accepted.length > 0) break;
  }
  const [only = null] = accepted;
  return isAnyRefused && accepted.length === 1 ? only : null;
}

/** Returns true for two answers with the same total and the same first row. Two refusals are the same too. */
export function isSame(one: Answered, other: Answered): boolean {
  const [first, second] = [pageOf(one), pageOf(other)];
  if (first === null || second === null) return first === second;
  const text = ({ totalSize, rows }: RawPage) => JSON.stringify([totalSize, rows[0] ?? null]);
  return text(first) === text(second);
}

/** Returns the page of an answer; null for a refusal, and for data that is no page. */
export function pageOf(answer: Answered): RawPage | null {
  if (!('data' in answer)) return null;
  try {
    return openListPage(answer.data, { pageNo: 1, pageSize: 1 }, true);
  } catch {
    return null;
  }
}
