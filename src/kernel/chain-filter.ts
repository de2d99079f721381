import { chainForms } from './address-form/chain-forms.ts';
import { readAddress } from './address-form/judge-addresses.ts';

/**
 * Detection of an address list that ignores the chain parameter. The parameter's name is a guess
 * (docs/wallet-service-api.md, section 4.2). A service that does not know the name may list all addresses for every
 * chain. The ledger would then store an address under the wrong chain.
 */

/** A slip44 code that no chain has. */
export const unusedChain = 2_000_000_017;

/**
 * `shared`: the service reads the chain parameter, but no list differs from another. Its chains may share their
 * addresses, or every list may show those of all chains. So only clear answers tell which addresses were generated for
 * a chain.
 */
export type ChainFilter = 'works' | 'shared' | 'broken' | 'unknown';

/** Returns whether a clear answer alone shows which addresses were generated for the chain. */
export function isAnswerEnough(filter: ChainFilter): boolean {
  return filter === 'works' || filter === 'shared';
}

/** First page of a chain's list. `isWhole`: it shows all addresses of the list. */
export type ListSample = { addresses: string[]; total: number | null; isWhole: boolean };

/**
 * Result of comparing the list of another chain with the chain's own list. The other list was requested first, then the
 * own one, then the other one again. `isApart`: the other list shows addresses, and the own list has none of them.
 * `answers` is null if the service refused to list the other chain.
 */
export type OtherList = {
  slip44: number;
  answers: { first: ListSample; ownAfter: ListSample; again: ListSample; isApart: boolean } | null;
};

export type FilterSeen = {
  slip44: number;
  /** The own list, before the lists of other chains. */
  own: ListSample;
  /** Unused chain: refused, empty, with addresses of the own list (`same`), or with others only (`apart`). */
  unused: 'refused' | 'empty' | 'same' | 'apart';
  others: OtherList[];
  /** The lists of all other chains that the service supports were requested. */
  areAllAsked: boolean;
};

/**
 * Decides whether the chain filter works, by the strongest evidence first:
 *
 * 1. Another chain's list shows addresses, none of them the chain's own: it works.
 * 2. An unused chain is listed: with the chain's own addresses it is broken, with others it works.
 * 3. Another chain's list differs from the own one, although both rest (an empty one beside one that is not): it works.
 * 4. The own list shows an address that can only be another chain's: it is broken.
 * 5. The unused chain's list is empty beside one that is not: it works.
 * 6. Two chains list an address that can only be one's: it is broken.
 * 7. The unused chain and every other one that the service supports are refused: no other chain's address can be
 *    listed, so it works.
 * 8. The unused chain is refused, and the other lists show what chains that share their addresses would show: shared.
 *
 * A refusal of the unused chain alone shows only that the parameter is read: the service may validate it and then list
 * all addresses. The same addresses on two chains of one form show nothing more, because many services use one address
 * on several chains. Without evidence it stays unknown.
 */
export function judgeFilter({ slip44, own, unused, others, areAllAsked }: FilterSeen): ChainFilter {
  if (others.some(({ answers }) => answers?.isApart)) return 'works';
  if (unused === 'same') return 'broken';
  if (unused === 'apart') return 'works';
  if (own.addresses.length === 0) return 'unknown';
  if (others.some((other) => isDifferent(own, other))) return 'works';
  if (own.addresses.some((address) => isOfAnotherChain(slip44, address))) return 'broken';
  if (unused === 'empty') return 'works';
  if (others.some((other) => isMixed(slip44, own, other))) return 'broken';
  if (areAllAsked && others.every(({ answers }) => answers === null)) return 'works';
  return others.every((other) => mayShare(slip44, own, other)) ? 'shared' : 'unknown';
}

/** Returns true unless the chains differ in form and the lists share an address that does not fit both of them. */
function mayShare(slip44: number, own: ListSample, { slip44: other, answers }: OtherList): boolean {
  if (!answers || chainForms.get(slip44) === chainForms.get(other)) return true;
  return sharedBy([own, answers.first]).every(
    (address) => isFit(slip44, address) && isFit(other, address),
  );
}

/** Returns true if the two lists differ in each of their answers. A list that grows meanwhile does not count. */
function isDifferent(own: ListSample, { answers }: OtherList): boolean {
  if (!answers) return false;
  const { first, ownAfter, again } = answers;
  const lacksOne = (shown: ListSample[], lists: ListSample[]) =>
    lists.every(({ isWhole }) => isWhole) &&
    sharedBy(shown).some((address) => lists.every((list) => !isIn(list, address)));
  const owns = [own, ownAfter];
  const others = [first, again];
  return lacksOne(owns, others) || lacksOne(others, owns) || hasOtherTotal(owns, others);
}

function hasOtherTotal(owns: ListSample[], others: ListSample[]): boolean {
  const [ofOwn, ofOther] = [owns, others].map((lists) => new Set(lists.map(({ total }) => total)));
  if (ofOwn?.size !== 1 || ofOther?.size !== 1) return false;
  const [own, other] = [...ofOwn, ...ofOther];
  return own !== null && other !== null && own !== other;
}

/** Returns the addresses that each of the lists shows. */
function sharedBy([first, ...more]: ListSample[]): string[] {
  return (first?.addresses ?? []).filter((address) => more.every((list) => isIn(list, address)));
}

/** Compares without case: a service may write one address in two spellings. */
function isIn({ addresses }: ListSample, address: string): boolean {
  const lower = address.toLowerCase();
  return addresses.some((each) => each.toLowerCase() === lower);
}

/** Returns true if the lists share an address that is certainly one chain's and cannot be the other's. */
function isMixed(slip44: number, own: ListSample, { slip44: other, answers }: OtherList): boolean {
  if (!answers) return false;
  return sharedBy([own, answers.first]).some(
    (address) =>
      (isCertain(slip44, address) && isUnfit(other, address)) ||
      (isCertain(other, address) && isUnfit(slip44, address)),
  );
}

function isOfAnotherChain(slip44: number, address: string): boolean {
  return (
    isUnfit(slip44, address) && [...chainForms.keys()].some((other) => isCertain(other, address))
  );
}

/** Returns true for an address that fits the chain's form, and for any address of a chain whose form is not known. */
function isFit(slip44: number, address: string): boolean {
  const { form } = readAddress(slip44, address);
  return form === 'proven' || form === 'plain' || form === 'other';
}

function isUnfit(slip44: number, address: string): boolean {
  return readAddress(slip44, address).form === 'unfit';
}

/** Accepts a valid checksum, and 40 hexadecimal digits; other forms without a checksum fit many texts by chance. */
function isCertain(slip44: number, address: string): boolean {
  const { form } = readAddress(slip44, address);
  return form === 'proven' || (form === 'plain' && /^0x[0-9a-f]{40}$/i.test(address));
}
