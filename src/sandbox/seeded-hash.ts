/**
 * Deterministic randomness without state: each number is a function of the seed, its purpose and an index. Values that
 * can be recomputed need not be stored.
 */
/** Purposes of the numbers. A text uses one purpose per six characters, hence the gaps between the large ones. */
export const purpose = {
  asset: 1,
  direction: 2,
  units: 3,
  dust: 4,
  fee: 5,
  fate: 6,
  life: 7,
  moment: 8,
  tie: 9,
  orderNo: 10,
  place: 11,
  depositAddress: 12,
  fault: 13,
  faultKind: 14,
  lostPost: 15,
  shuffle: 16,
  transfer: 17,
  wallet: 18,
  txHash: 100,
  ownAddress: 200,
  foreignAddress: 300,
  requestId: 400,
} as const;

/** Returns an integer in [0, 2^32). For one seed and purpose, different indices in [0, 2^32) have different numbers. */
export function hash32(seed: number, purposeId: number, index: number): number {
  return scramble(scramble(scramble(seed) ^ purposeId) ^ index) >>> 0;
}

/** Returns a number in [0, 1). */
export function fraction(seed: number, purposeId: number, index: number): number {
  return hash32(seed, purposeId, index) / 2 ** 32;
}

/** Returns `length` characters of the alphabet. Uses the purposes from `purposeId` on, one per six characters. */
export function seededText(
  seed: number,
  purposeId: number,
  index: number,
  alphabet: string,
  length: number,
): string {
  const pairs = pairsOf(alphabet);
  const count = pairs.length;
  let text = '';
  for (let block = purposeId; text.length < length; block++) {
    const bits = hash32(seed, block, index);
    const rest = Math.floor(bits / count);
    text += `${pairs[bits % count]}${pairs[rest % count]}${pairs[Math.floor(rest / count) % count]}`;
  }
  return text.slice(0, length);
}

const pairsByAlphabet = new Map<string, string[]>();

// Text is built from pairs of characters for speed, because it is most of the work of a page.
function pairsOf(alphabet: string): string[] {
  const known = pairsByAlphabet.get(alphabet);
  if (known) return known;
  const pairs = [...alphabet].flatMap((a) => [...alphabet].map((b) => a + b));
  pairsByAlphabet.set(alphabet, pairs);
  return pairs;
}

// Finaliser of MurmurHash3, a bijection on 32 bits.
function scramble(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
