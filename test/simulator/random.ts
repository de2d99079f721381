/** Numbers from a seed: the same seed, the same numbers. */
export type Random = {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below); 0 where `below` is 0. */
  int(below: number): number;
  /** True with the probability. */
  chance(probability: number): boolean;
  pick<T>(...choices: [T, ...T[]]): T;
};

/** mulberry32. */
export function createRandom(seed: number): Random {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  next();
  const int = (below: number) => Math.floor(next() * below);
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (...choices) => choices[int(choices.length)] ?? choices[0],
  };
}
