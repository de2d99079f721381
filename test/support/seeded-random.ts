/** Random draws determined by one seed. */
export type SeededRandom = {
  /** 0 to below 1. */
  next(): number;
  /** 0 to below `limit`. */
  below(limit: number): number;
  chance(rate: number): boolean;
  pick<const T>(items: readonly T[]): T;
  /** This number of characters of the alphabet. */
  text(alphabet: string, length: number): string;
};

export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  // mulberry32
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (rate) => next() < rate,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
    // Joined, not concatenated with +: V8 would keep the text as a tree of its parts.
    text: (alphabet, length) =>
      Array.from({ length }, () => alphabet[below(alphabet.length)]).join(''),
  };
}

/** Like `seededRandom`, for seeds close to each other. */
export function scrambledRandom(seed: number): SeededRandom {
  const random = seededRandom(seed ^ 0x9e3779b9);
  random.next();
  return random;
}

export function hexText(random: SeededRandom, length: number): string {
  const words = Array.from({ length: Math.ceil(length / 8) }, () =>
    random.below(4_294_967_296).toString(16).padStart(8, '0'),
  );
  return words.join('').slice(0, length);
}
