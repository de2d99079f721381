import { unusedChain } from '../../kernel/chain-filter.ts';
import type { ParamNames } from '../../kernel/vocabulary.ts';
import { openListPage, type RawPage } from '../../service/decoding/open-page.ts';
import type { Signer } from '../../service/signing/signer.ts';
import type { Answered, ServiceAsker } from './ask-service.ts';

/** Names that services use, the likeliest first. */
const usualNames: Record<keyof ParamNames, string[]> = {
  page: [
    'pageNo',
    'page',
    'pageNum',
    'page_no',
    'pageNumber',
    'pageIndex',
    'current',
    'page_num',
    'page_index',
    'page_number',
    'currentPage',
    'current_page',
  ],
  size: [
    'pageSize',
    'size',
    'limit',
    'page_size',
    'perPage',
    'per_page',
    'rows',
    'count',
    'page_length',
    'pageLength',
    'page_limit',
    'num',
  ],
  type: [
    'type',
    'txType',
    'transactionType',
    'direction',
    'side',
    'tradeType',
    'tx_type',
    'orderType',
  ],
  chain: ['slip44', 'chain', 'coinType', 'chainId', 'chain_id', 'coin_type', 'network', 'slip_44'],
};

/** A name for each parameter; null if the answers do not show it. */
export type FoundNames = { [Meaning in keyof ParamNames]: string | null };

/** Signed requests with one signer. */
type Ask = (path: string, query: [string, string][]) => Promise<Answered>;
type Query = [string, string][];

const transactionList = '/v1/transaction/list';
const addressList = '/v1/wallet/address/list';
/** One distinct value per name; none is a default that a service may have. */
const sizes = [3, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43];
const pages = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

/**
 * Finds the names of the parameters by their effect. Several names are sent at once, each with a different value, so
 * that the answer shows which of them the service knows. If a service refuses unknown names, they are sent one at a
 * time. A name that is not found before the requests are used up is null.
 */
export async function findNames(
  asker: ServiceAsker,
  signer: Signer,
  chains: readonly number[],
): Promise<{ names: FoundNames; rows: unknown[] }> {
  const rows: unknown[] = [];
  const ask: Ask = async (path, query) => {
    const answer = await asker.ask(signer, path, query);
    if (path === transactionList) rows.push(...(pageOf(answer)?.rows ?? []));
    return answer;
  };
  const unlessSpent = async (find: () => Promise<string | null>) => {
    try {
      return await find();
    } catch (error) {
      if (asker.left() > 0) throw error;
      return null;
    }
  };
  const size = await unlessSpent(() => findSize(ask));
  const page = await unlessSpent(() => findPage(ask, size));
  const kinds: [string, string] = ['deposit', 'withdraw'];
  const type = await unlessSpent(() => findFilter(ask, transactionList, usualNames.type, kinds));
  const [chain = null] = chains;
  const codes: [string, string] = [String(chain), String(unusedChain)];
  const named = await unlessSpent(async () =>
    chain === null ? null : await findFilter(ask, addressList, usualNames.chain, codes),
  );
  return { names: { page, size, type, chain: named }, rows };
}

async function findSize(ask: Ask): Promise<string | null> {
  const sizeOf = (answer: Answered): number | null => {
    const page = pageOf(answer);
    return page && (page.pageSize ?? (page.rows.length > 0 ? page.rows.length : null));
  };
  return await findByValue(ask, usualNames.size, sizes, [], sizeOf);
}

async function findPage(ask: Ask, size: string | null): Promise<string | null> {
  // Small pages, so that a short history has several.
  const small: Query = size === null ? [] : [[size, '1']];
  return await findByValue(
    ask,
    usualNames.page,
    pages,
    small,
    (answer) => pageOf(answer)?.pageNo ?? null,
  );
}

/** Finds the name whose value the answer repeats. */
async function findByValue(
  ask: Ask,
  names: readonly string[],
  values: readonly number[],
  more: Query,
  read: (answer: Answered) => number | null,
): Promise<string | null> {
  const together = names.map((name, index): [string, string] => [name, String(values[index])]);
  const answer = await ask(transactionList, [...more, ...together]);
  const echoed = read(answer);
  const found = echoed === null ? undefined : names[values.indexOf(echoed)];
  if (found !== undefined || 'data' in answer) return found ?? null;
  const [value] = values;
  for (const name of names)
    if (read(await ask(transactionList, [...more, [name, String(value)]])) === value) return name;
  return null;
}

/**
 * Finds the name of a filter: with it, the first value is accepted, and the second one is refused or shows other rows.
 * Halves the names, each half with one of the values, until one is left. If both values give the same answer, the
 * filter may still be required: then it is the name without which the service refuses.
 */
async function findFilter(
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
async function halve(
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
function isSame(one: Answered, other: Answered): boolean {
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
