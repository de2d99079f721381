/**
 * Records used nonces. `use` returns false for a nonce that is used, too old, or not a decimal text of at most 30
 * digits.
 */
export type NonceMemory = { use(nonce: string): boolean };

/** Keeps the last `capacity` nonces. An evicted nonce and all lower ones count as used from then on. */
export function createNonceMemory(capacity: number): NonceMemory {
  const used = new Set<string>();
  let floor = -1n;

  function forgetOldest() {
    for (const oldest of used) {
      used.delete(oldest);
      if (BigInt(oldest) > floor) floor = BigInt(oldest);
      return;
    }
  }

  return {
    use(nonce) {
      if (!/^[1-9]\d{0,29}$/.test(nonce) || used.has(nonce) || BigInt(nonce) <= floor) return false;
      used.add(nonce);
      if (used.size > capacity) forgetOldest();
      return true;
    },
  };
}
