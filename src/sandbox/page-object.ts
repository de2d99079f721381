import type { SandboxOptions } from './sandbox-options.ts';
import { hash32, purpose } from './seeded-hash.ts';
import type { Listing } from './world/wallet-world.ts';

type PageRules = Pick<
  SandboxOptions,
  | 'seed'
  | 'listOrder'
  | 'paramNames'
  | 'defaultPageSize'
  | 'pageSizeMax'
  | 'pageSizeRule'
  | 'beyondEnd'
>;

export type PageRefusal = 'parameter' | 'page-size' | 'page-beyond-end';

/**
 * Returns the page object (docs/wallet-service-api.md, section 2.2) as JSON text, or the reason for a refusal.
 * `uncounted`: number of rows that the total leaves out; below 0, of rows that it counts too many. `shuffle`: number of
 * the request, for the order `shuffled`.
 */
export function pageObject(
  listing: Listing,
  query: URLSearchParams,
  rules: PageRules,
  { uncounted, shuffle }: { uncounted: number; shuffle: number },
): { text: string } | { refusal: PageRefusal } {
  const asked = readPaging(query, rules);
  if ('refusal' in asked) return asked;
  const { pageNo, pageSize } = asked;
  const lastPage = Math.max(1, Math.ceil(listing.count / pageSize));
  const isBeyond = pageNo > lastPage;
  if (isBeyond && rules.beyondEnd === 'refuse') return { refusal: 'page-beyond-end' };
  const shownPage = isBeyond && rules.beyondEnd === 'last-page' ? lastPage : pageNo;

  const place = createPlacement(listing.count, rules, shuffle);
  const start = (shownPage - 1) * pageSize;
  const end = Math.min(listing.count, start + pageSize);
  const texts: string[] = [];
  for (let i = start; i < end; i++) texts.push(listing.textAt(place(i)));

  const totalSize = Math.max(0, listing.count - uncounted);
  const totalPages = Math.ceil(totalSize / pageSize);
  const prevPage = Math.max(1, shownPage - 1);
  const nextPage = Math.max(1, Math.min(totalPages, shownPage + 1));
  const numbers = { pageNo: shownPage, pageSize, totalSize, totalPages, prevPage, nextPage };
  return { text: `${JSON.stringify(numbers).slice(0, -1)},"list":[${texts.join(',')}]}` };
}

function readPaging(
  query: URLSearchParams,
  rules: PageRules,
): { pageNo: number; pageSize: number } | { refusal: PageRefusal } {
  const pageNo = readCount(query.get(rules.paramNames.page), 1);
  const pageSize = readCount(query.get(rules.paramNames.size), rules.defaultPageSize);
  if (pageNo === null || pageSize === null) return { refusal: 'parameter' };
  if (pageSize > rules.pageSizeMax && rules.pageSizeRule === 'refuse') {
    return { refusal: 'page-size' };
  }
  return { pageNo, pageSize: Math.min(pageSize, rules.pageSizeMax) };
}

function readCount(text: string | null, fallback: number): number | null {
  if (text === null || text === '') return fallback;
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}

/** Returns the function from a place in the answer's order to a position of the listing. */
function createPlacement(
  count: number,
  { listOrder, seed }: PageRules,
  shuffle: number,
): (i: number) => number {
  if (listOrder === 'newest-first') return (i) => count - 1 - i;
  if (listOrder !== 'shuffled' || count === 0) return (i) => i;
  // A step that is coprime to the count visits every position once.
  const draw = hash32(seed, purpose.shuffle, shuffle);
  let step = 1 + (draw % count);
  while (greatestCommonDivisor(step, count) !== 1) step++;
  return (i) => (draw + i * step) % count;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
