import { type ChainForm, chainForms, type Fit } from './chain-forms.ts';
import { plainProblem } from './plain-rule.ts';

/**
 * Result of the comparison with the chain's form. `proven` and `plain` fit, with a checksum or without. `strange` does
 * not fit, on a chain whose addresses have never fitted. `misfit` does not fit and is judged again before it becomes
 * available, because the list may be another chain's. `other` means that the chain's form is not known here.
 */
type AddressForm = Fit | 'strange' | 'misfit' | 'other';

/** An address and its form, or the reason why it is not an address of the chain. */
export type Judgement = { address: string; form: AddressForm; refused: null } | Refusal;

type Refusal = { address: string; form: null; refused: string };

const tagged = /^(.+?)[:?#|,;]\S*$/;
const triedLetters = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** Number of addresses tried with other last letters, a bound for the CPU time. */
const triedMax = 30;

/** Result for one address, independent of the other addresses. */
export type Reading = Judgement | { address: string; form: 'unfit' };

/** Judges addresses of a list that may be another chain's: refuses only texts that are no address of any chain. */
export function judgeLeniently(readings: readonly Reading[]): Judgement[] {
  return readings.map(
    (each): Judgement =>
      each.form === 'unfit' ? { address: each.address, form: 'misfit', refused: null } : each,
  );
}

/**
 * Judges addresses that the service lists for a chain. `isFormSeen` means that an earlier address of the chain fitted
 * its form.
 *
 * An address that does not fit is refused once the service is known to use the chain's form. That is known if another
 * address fits, now or earlier, or if this one would fit with another last letter. It is also refused if another
 * address of the list is refused by the plain rule. Otherwise the service writes the chain's addresses in its own way,
 * as an emulator may, and only the plain rule applies.
 */
export function judgeAddresses(
  slip44: number,
  addresses: readonly string[],
  isFormSeen: boolean,
): Judgement[] {
  return judgeReadings(slip44, readEach(slip44, addresses), isFormSeen);
}

/** Does the same as `judgeAddresses`, for addresses already read with `readAddress`. */
export function judgeReadings(
  slip44: number,
  judged: readonly Reading[],
  isFormSeen: boolean,
): Judgement[] {
  const form = chainForms.get(slip44);
  const unfit = judged.filter((each) => each.form === 'unfit').slice(0, triedMax);
  const isFormKnown =
    isFormSeen ||
    judged.some((each) => each.form !== 'unfit') ||
    (form !== undefined && unfit.some(({ address }) => isNearMiss(form, address)));
  return judged.map((each): Judgement => {
    if (each.form !== 'unfit') return each;
    if (!isFormKnown) return { address: each.address, form: 'strange', refused: null };
    return refuse(each.address, `not an address of ${form?.chain}: alphabet, length or checksum`);
  });
}

function readEach(slip44: number, addresses: readonly string[]): Reading[] {
  return addresses.map((address) => readAddress(slip44, address));
}

/** Reads one address; verifying a checksum may take a third of a millisecond. */
export function readAddress(slip44: number, address: string): Reading {
  const form = chainForms.get(slip44);
  const problem = plainProblem(address);
  if (problem !== null) return refuse(address, problem);
  if (!form) return { address, form: 'other', refused: null };
  const fit = readForm(form, address);
  return fit === null ? { address, form: 'unfit' } : { address, form: fit, refused: null };
}

/** Returns the match with the chain's form, without a tag if necessary; null without a match. */
function readForm(form: ChainForm, address: string): Fit | null {
  const fit = form.read(address);
  if (fit !== null || !form.hasTag) return fit;
  const bare = tagged.exec(address)?.[1];
  return bare === undefined ? null : form.read(bare);
}

/** Returns true if another last letter would make the checksum valid, which does not happen by chance. */
function isNearMiss(form: ChainForm, address: string): boolean {
  const stem = address.slice(0, -1);
  return [...triedLetters].some((letter) => form.read(stem + letter) === 'proven');
}

function refuse(address: string, refused: string): Refusal {
  return { address, form: null, refused };
}
