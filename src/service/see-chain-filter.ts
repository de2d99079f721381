import { chainForms } from '../kernel/address-form/chain-forms.ts';
import {
  type ChainFilter,
  type FilterSeen,
  judgeFilter,
  type ListSample,
  type OtherList,
  unusedChain,
} from '../kernel/chain-filter.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { WalletClient } from './wallet-client.ts';

export type FilterTools = {
  client: Pick<WalletClient, 'listAddresses' | 'listCoins'>;
  /** slip44 codes of the configured chains. */
  chains: readonly number[];
  pageSizeMax: number;
  /** Returns true if the chain's list is known to have shown one of the addresses. */
  isListed(slip44: number, addresses: string[]): Promise<boolean>;
  signal: AbortSignal;
};

const samplePageSize = 20;
/** Upper bound of the chains that are not configured and whose lists are requested. */
const othersMax = 8;
const refusals = new Set<string>(['service-refused', 'service-unsettled']);
/**
 * Neither codes nor HTTP statuses of failures are documented, so each of these may be how the service refuses a chain.
 * The list of the chain itself, which is requested between two of them, shows that the service works.
 */
const failures = new Set<string>([
  ...refusals,
  'service-unreachable',
  'service-authentication',
  'service-malformed',
]);
/**
 * A code is a definite answer, so one is enough; any other failure may be transient. The fourth attempt accepts an odd
 * answer.
 */
const briefly = { unsettledMax: 1, attemptsMax: 4 };

/**
 * Requests first pages of address lists until they show whether the chain's list applies the chain filter. Requests the
 * lists of the chain and of a chain that does not exist, then those of the other configured chains, then those of
 * chains in the service's coin list. `own`: the first addresses of the chain. Throws if the service refuses to list the
 * chain itself.
 */
export async function seeChainFilter(
  tools: FilterTools,
  slip44: number,
): Promise<{ filter: ChainFilter; own: string[] }> {
  const before = await sampleOrRefusal(tools, unusedChain);
  const own = await sampleList(tools, slip44);
  // If the chain is refused before and after a granted list, the refusal concerns the chain and is not a transient
  // fault.
  const unused = await describeUnused(
    tools,
    slip44,
    own,
    before ?? (await sampleOrRefusal(tools, unusedChain)),
  );
  const seen: FilterSeen = { slip44, own, unused, others: [], areAllAsked: false };
  const configured = tools.chains.filter((chain) => chain !== slip44);
  let filter = judgeFilter(seen);
  if (filter !== 'works') filter = await askOthers(tools, seen, configured);
  if (filter !== 'works' && unused !== 'same') {
    const supported = await supportedChains(tools, slip44);
    const more = supported?.filter((chain) => !tools.chains.includes(chain)) ?? [];
    filter = await askOthers(tools, seen, more.slice(0, othersMax));
    const areAllAsked = supported !== null && more.length <= othersMax;
    const isOpen = filter === 'unknown' || filter === 'shared';
    if (isOpen && areAllAsked && (await isShownByRefusals(tools, seen))) filter = 'works';
  }
  return { filter, own: own.addresses };
}

async function describeUnused(
  { isListed }: FilterTools,
  slip44: number,
  own: ListSample,
  unused: ListSample | null,
): Promise<FilterSeen['unused']> {
  if (unused === null) return 'refused';
  if (unused.addresses.length === 0) return 'empty';
  const isSame = isShared(unused, own) || (await isListed(slip44, unused.addresses));
  return isSame ? 'same' : 'apart';
}

/** Requests the lists of other chains, and adds them to `seen`, until one shows that the filter works. */
async function askOthers(
  tools: FilterTools,
  seen: FilterSeen,
  chains: readonly number[],
): Promise<ChainFilter> {
  for (const other of chains) {
    seen.others.push(await askOther(tools, seen, other));
    if (judgeFilter(seen) === 'works') break;
  }
  return judgeFilter(seen);
}

async function askOther(tools: FilterTools, seen: FilterSeen, other: number): Promise<OtherList> {
  const { slip44, own } = seen;
  const first = await sampleOrRefusal(tools, other);
  if (first === null) return { slip44: other, answers: null };
  const isEmpty = first.addresses.length === 0;
  // Two empty lists show nothing, and cost no further request.
  if (isEmpty && own.addresses.length === 0)
    return { slip44: other, answers: { first, ownAfter: own, again: first, isApart: false } };
  // Addresses that are generated meanwhile may be in the second list only; the third one then shows them too.
  const ownAfter = await sampleList(tools, slip44);
  const isApart =
    !isEmpty &&
    !isShared(first, own) &&
    !isShared(first, ownAfter) &&
    !(await tools.isListed(slip44, first.addresses));
  const again = isApart ? first : await sampleOrRefusal(tools, other);
  return { slip44: other, answers: again && { first, ownAfter, again, isApart } };
}

/**
 * Returns true if the refusals alone show the filter. Requests the refused lists again, with the own list in between:
 * refusals at both times are not transient faults.
 */
async function isShownByRefusals(tools: FilterTools, seen: FilterSeen): Promise<boolean> {
  if (judgeFilter({ ...seen, areAllAsked: true }) !== 'works') return false;
  if (seen.others.length > 0) await sampleList(tools, seen.slip44);
  for (const other of seen.others)
    if ((await sampleOrRefusal(tools, other.slip44)) !== null) return false;
  return true;
}

/**
 * Returns the other chains of the service's coin list, those with another address form first, because their lists
 * differ for certain. Null: the coin list was not read, or it does not name the chain itself, so it is not all chains.
 */
async function supportedChains(
  { client, signal }: FilterTools,
  slip44: number,
): Promise<number[] | null> {
  const coins = await unlessFailed(() => client.listCoins(signal), refusals, signal);
  const named = [...new Set(coins?.records.map((coin) => coin.slip44))];
  if (!named.includes(slip44)) return null;
  const others = named.filter((chain) => chain !== slip44);
  const hasSameForm = (chain: number) => chainForms.get(chain) === chainForms.get(slip44);
  return [...others.filter((chain) => !hasSameForm(chain)), ...others.filter(hasSameForm)];
}

function isShared(one: ListSample, other: ListSample): boolean {
  return one.addresses.some((address) => other.addresses.includes(address));
}

/** Returns the beginning of a chain's list. */
async function sampleList(
  { client, pageSizeMax, signal }: FilterTools,
  slip44: number,
  limits?: typeof briefly,
): Promise<ListSample> {
  const pageSize = Math.min(samplePageSize, pageSizeMax);
  const page = await client.listAddresses({ slip44, pageNo: 1, pageSize, ...limits }, signal);
  const addresses = page.records.map(({ address }) => address);
  return { addresses, total: page.totalSize, isWhole: page.totalSize === addresses.length };
}

/** Returns null if the service did not list the chain. */
async function sampleOrRefusal(tools: FilterTools, slip44: number): Promise<ListSample | null> {
  return await unlessFailed(() => sampleList(tools, slip44, briefly), failures, tools.signal);
}

/** Returns null for a failure with one of the codes. */
async function unlessFailed<T>(
  ask: () => Promise<T>,
  codes: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LedgerError && codes.has(error.code)) return null;
    throw error;
  }
}

/** Returns true if the service refused the request, or gave a code that may be transient. */
export function isListRefusal(error: unknown): boolean {
  return error instanceof LedgerError && refusals.has(error.code);
}
