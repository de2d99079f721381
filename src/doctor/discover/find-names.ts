import { unusedChain } from '../../kernel/chain-filter.ts';
import type { ParamNames } from '../../kernel/vocabulary.ts';
import type { Signer } from '../../service/signing/signer.ts';
import type { Answered, ServiceAsker } from './ask-service.ts';
import { type Ask, findFilter, halve, isSame, pageOf, type Query } from './find-by-effect.ts';

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
    'p',
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

const transactionList = '/v1/transaction/list';
const addressList = '/v1/wallet/address/list';
/** One distinct value per name; none is a default that a service may have. */
const sizes = [3, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43];
const pages = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];

/** Values for names of the size where all of `sizes` are cut: no service cuts below 10, and few have such a default. */
const sizesWithin10 = [3, 4, 6, 7, 8, 9];

/**
 * Finds the names of the parameters by their effect. Several names are sent at once, each with a different value, so
 * that the answer shows which of them the service knows. If a service refuses unknown names, they are sent one at a
 * time. A name that is not found before the requests are used up is null. `isPageWrong`: the service ignores or refuses
 * each of the usual names of the page parameter.
 */
export async function findNames(
  asker: ServiceAsker,
  signer: Signer,
  chains: readonly number[],
): Promise<{ names: FoundNames; isPageWrong: boolean; rows: unknown[] }> {
  const rows: unknown[] = [];
  const ask: Ask = async (path, query) => {
    const answer = await asker.ask(signer, path, query);
    if (path === transactionList) rows.push(...(pageOf(answer)?.rows ?? []));
    return answer;
  };
  const unlessSpent = async <T>(find: () => Promise<T>): Promise<T | null> => {
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
  const names = { page: page?.name ?? null, size, type, chain: named };
  return { names, isPageWrong: page?.isWrong ?? false, rows };
}

async function findSize(ask: Ask): Promise<string | null> {
  const sizeOf = (answer: Answered): number | null => {
    const page = pageOf(answer);
    return page && (page.pageSize ?? (page.rows.length > 0 ? page.rows.length : null));
  };
  const found = await findByValue(ask, usualNames.size, sizes, [], sizeOf);
  if (found.name !== null || found.isRefused) return found.name;
  const echoOf = (answer: Answered) => pageOf(answer)?.pageSize ?? null;
  const half = sizesWithin10.length;
  for (const names of [usualNames.size.slice(0, half), usualNames.size.slice(half)]) {
    const { name } = await findByValue(ask, names, sizesWithin10, [], echoOf);
    if (name !== null) return name;
  }
  return null;
}

/** `isWrong`: none of the usual names has an effect on a list of several pages. */
type FoundPage = { name: string | null; isWrong: boolean };

async function findPage(ask: Ask, size: string | null): Promise<FoundPage> {
  // Small pages, so that a short history has several.
  const small: Query = size === null ? [] : [[size, '1']];
  const { name, isRefused } = await findByValue(
    ask,
    usualNames.page,
    pages,
    small,
    (answer) => pageOf(answer)?.pageNo ?? null,
  );
  if (name !== null) return { name, isWrong: false };
  // Without a size, the service may have refused the list itself.
  if (isRefused) return { name, isWrong: size !== null };
  return await findPageByEffect(ask, small);
}

/** Compares page 1 with page 2, because the answers repeat no page number. */
async function findPageByEffect(ask: Ask, small: Query): Promise<FoundPage> {
  const read = (names: readonly string[], page: string) =>
    ask(transactionList, [...small, ...names.map((name): [string, string] => [name, page])]);
  const first = await read(usualNames.page, '1');
  if (isSame(first, await read(usualNames.page, '2')))
    return { name: null, isWrong: hasFurtherPages(first) };
  const name = await halve(usualNames.page, async (half) => !isSame(await read(half, '2'), first));
  // Rows that have just arrived change an answer as well.
  const isEffective = name !== null && !isSame(await read([name], '1'), await read([name], '2'));
  return { name: isEffective ? name : null, isWrong: false };
}

function hasFurtherPages(answer: Answered): boolean {
  const page = pageOf(answer);
  return page !== null && page.rows.length > 0 && (page.totalSize ?? 0) > page.rows.length;
}

/**
 * Finds the name whose value the answer repeats. `isRefused`: the service refuses unknown names, and each of these.
 */
async function findByValue(
  ask: Ask,
  names: readonly string[],
  values: readonly number[],
  more: Query,
  read: (answer: Answered) => number | null,
): Promise<{ name: string | null; isRefused: boolean }> {
  const together = names.map((name, index): [string, string] => [name, String(values[index])]);
  const answer = await ask(transactionList, [...more, ...together]);
  const echoed = read(answer);
  const found = echoed === null ? undefined : names[values.indexOf(echoed)];
  if (found !== undefined || 'data' in answer) return { name: found ?? null, isRefused: false };
  const [value] = values;
  let isRefused = true;
  for (const name of names) {
    const alone = await ask(transactionList, [...more, [name, String(value)]]);
    if (read(alone) === value) return { name, isRefused: false };
    isRefused &&= !('data' in alone);
  }
  return { name: null, isRefused };
}
