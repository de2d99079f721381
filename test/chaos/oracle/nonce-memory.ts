const blockSize = 65_536;
const farthestMs = 86_400_000;

export type NonceVerdict = 'new' | 'reused' | 'bad';

/** Remembers every nonce ever used, with one bit each: an hour of milliseconds takes half a megabyte. */
export function createNonceMemory(): (nonce: string, now: number) => NonceVerdict {
  const blocks = new Map<number, Uint8Array>();
  return (nonce, now) => {
    if (!/^[1-9]\d{0,14}$/.test(nonce)) return 'bad';
    const number = Number(nonce);
    if (Math.abs(number - now) > farthestMs) return 'bad';
    const key = Math.floor(number / blockSize);
    const block = blocks.get(key) ?? new Uint8Array(blockSize / 8);
    blocks.set(key, block);
    const place = number % blockSize;
    const bit = 1 << (place & 7);
    const index = place >> 3;
    if (((block[index] ?? 0) & bit) !== 0) return 'reused';
    block[index] = (block[index] ?? 0) | bit;
    return 'new';
  };
}
