/** Remembers which nonces were used; `use` returns false for one that was used before or is no decimal text. */
export type NonceMemory = { use(nonce: string): boolean };

/**
 * Keeps the last `capacity` nonces. What falls out of the memory still counts as used, and so does any nonce
 * below it: a service forgets by refusing what is old.
 */
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
