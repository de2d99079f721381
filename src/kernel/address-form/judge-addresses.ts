import { type ChainForm, chainForms, type Fit } from './chain-forms.ts';
import { plainProblem } from './plain-rule.ts';

/**
 * `proven` and `plain` fit the chain's form, with a checksum or without. `strange` does not, on a chain of which no
 * address ever did. `misfit` does not, and is to be judged again before it may be available: the list that showed it
 * may be another chain's. `other`: the form of the chain's addresses is not known here.
 */
type AddressForm = Fit | 'strange' | 'misfit' | 'other';

/** An address and its form, or why it is none of the chain. */
export type Judgement = { address: string; form: AddressForm; refused: null } | Refusal;

type Refusal = { address: string; form: null; refused: string };

const tagged = /^(.+?)[:?#|,;]\S*$/;
const triedLetters = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
/** So many strange addresses are tried with other last letters: it takes under a millisecond each. */
const triedMax = 30;

/** An address read by itself, without regard to the others. */
export type Reading = Judgement | { address: string; form: 'unfit' };

/**
 * Judges addresses of a list that may be that of another chain: only what is no address of any chain is refused.
 */
export function judgeLeniently(readings: readonly Reading[]): Judgement[] {
  return readings.map(
    (each): Judgement =>
      each.form === 'unfit' ? { address: each.address, form: 'misfit', refused: null } : each,
  );
}

/**
 * Judges addresses that the service shows for a chain; `isFormSeen`: an address of the chain has fitted its form before.
 *
 * An address that does not fit its chain's form is refused as soon as anything shows that the service uses that form:
 * another one fits, here or before, or this one would with another last letter. It is refused too where its neighbours
 * are no addresses at all. Otherwise the service writes that chain's addresses in a way of its own, as an emulator may:
 * none of them fits, and nothing tells a good one from a bad one but the plain rule.
 */
export function judgeAddresses(
  slip44: number,
  addresses: readonly string[],
  isFormSeen: boolean,
): Judgement[] {
  return judgeReadings(slip44, readEach(slip44, addresses), isFormSeen);
}

/** As `judgeAddresses`, of addresses that were read one by one. */
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

/** Reads one address: a checksum may take a third of a millisecond. */
export function readAddress(slip44: number, address: string): Reading {
  const form = chainForms.get(slip44);
  const problem = plainProblem(address);
  if (problem !== null) return refuse(address, problem);
  if (!form) return { address, form: 'other', refused: null };
  const fit = readForm(form, address);
  return fit === null ? { address, form: 'unfit' } : { address, form: fit, refused: null };
}

/** How an address fits its chain's form; null where it does not. */
function readForm(form: ChainForm, address: string): Fit | null {
  const fit = form.read(address);
  if (fit !== null || !form.hasTag) return fit;
  const bare = tagged.exec(address)?.[1];
  return bare === undefined ? null : form.read(bare);
}

/** Whether another last letter would make the checksum right, which chance does not. */
function isNearMiss(form: ChainForm, address: string): boolean {
  const stem = address.slice(0, -1);
  return [...triedLetters].some((letter) => form.read(stem + letter) === 'proven');
}

function refuse(address: string, refused: string): Refusal {
  return { address, form: null, refused };
}
