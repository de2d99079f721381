import { crc32 } from 'node:zlib';
import { blake2b } from '@noble/hashes/blake2.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base32nopad, base58, base58xrp, bech32, bech32m, createBase58check } from '@scure/base';

/** Exceeds the length of every text with one of these checksums. */
const lengthMax = 300;

/** Returns null if the decoder throws. */
function orNull<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch {
    return null;
  }
}

const base58check = createBase58check(sha256);

/**
 * Returns the payload of a base58 text whose double SHA-256 checksum is valid, else null. `xrp` selects Ripple's
 * alphabet.
 */
export function base58checkBytes(text: string, alphabet: 'bitcoin' | 'xrp'): Uint8Array | null {
  if (text.length > lengthMax) return null;
  if (alphabet === 'bitcoin') return orNull(() => base58check.decode(text));
  const bytes = orNull(() => base58xrp.decode(text));
  if (bytes === null || bytes.length < 5) return null;
  const payload = bytes.subarray(0, -4);
  return isSame(sha256(sha256(payload)).subarray(0, 4), bytes.subarray(-4)) ? payload : null;
}

/** Returns prefix and five-bit words of a bech32 or bech32m text, else null. */
export function bech32Words(
  text: string,
): { prefix: string; words: number[]; isM: boolean } | null {
  if (text.length > lengthMax || !text.includes('1')) return null;
  const spelled = text as `${string}1${string}`;
  const plain = orNull(() => bech32.decode(spelled, false));
  if (plain) return { ...plain, isM: false };
  const modified = orNull(() => bech32m.decode(spelled, false));
  return modified && { ...modified, isM: true };
}

/** Returns the number of bytes in five-bit words, or null if the padding is invalid. */
export function bytesInWords(words: number[]): number | null {
  return orNull(() => bech32.fromWords(words).length);
}

const cashAlphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const cashGenerator = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n];

/** Returns true if the text after the prefix carries a valid Bitcoin Cash checksum. */
export function hasCashChecksum(prefix: string, text: string): boolean {
  let checksum = 1n;
  for (const word of [...[...prefix].map((c) => c.charCodeAt(0) & 31), 0, ...cashWords(text)]) {
    const top = checksum >> 35n;
    checksum = ((checksum & 0x07ffffffffn) << 5n) ^ BigInt(word);
    for (const [bit, value] of cashGenerator.entries())
      if ((top >> BigInt(bit)) & 1n) checksum ^= value;
  }
  return checksum === 1n;
}

function cashWords(text: string): number[] {
  // Maps a letter outside the alphabet to 255; the caller has checked the alphabet.
  return [...text].map((letter) => cashAlphabet.indexOf(letter) & 0xff);
}

/** Returns true if the upper-case letters among the 40 hexadecimal digits are those of EIP-55. */
export function hasEip55Case(digits: string): boolean {
  const lower = digits.toLowerCase();
  const hash = keccak_256(new TextEncoder().encode(lower));
  return [...digits].every((digit, index) => {
    if (digit >= '0' && digit <= '9') return true;
    const nibble = ((hash[index >> 1] ?? 0) >> (index % 2 === 0 ? 4 : 0)) & 15;
    return digit === (nibble >= 8 ? digit.toUpperCase() : digit.toLowerCase());
  });
}

/** Returns the bytes of a base58 text, or null. */
export function base58Bytes(text: string): Uint8Array | null {
  return text.length > lengthMax ? null : orNull(() => base58.decode(text));
}

/** Returns true if the last two bytes are the SS58 checksum (Polkadot). */
export function hasSs58Checksum(bytes: Uint8Array): boolean {
  const prefix = new TextEncoder().encode('SS58PRE');
  const hash = blake2b(new Uint8Array([...prefix, ...bytes.subarray(0, -2)]), { dkLen: 64 });
  return isSame(hash.subarray(0, 2), bytes.subarray(-2));
}

/** Returns the bytes of an unpadded upper-case base32 text, or null. */
export function base32Bytes(text: string): Uint8Array | null {
  return text.length > lengthMax ? null : orNull(() => base32nopad.decode(text));
}

/** Returns true if a Filecoin payload ends with a valid four-byte BLAKE2b checksum. */
export function hasFilecoinChecksum(protocol: number, bytes: Uint8Array): boolean {
  const hash = blake2b(new Uint8Array([protocol, ...bytes.subarray(0, -4)]), { dkLen: 4 });
  return isSame(hash, bytes.subarray(-4));
}

/** Returns the CRC-16 of TON and Stellar (XMODEM: polynomial 0x1021, initial value 0). */
export function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** Returns true if the bytes are a Byron address (early Cardano): a tagged CBOR byte string and its CRC-32. */
export function hasByronChecksum(bytes: Uint8Array): boolean {
  const [array, tag, number, kind, length = 0] = bytes;
  if (array !== 0x82 || tag !== 0xd8 || number !== 0x18 || kind !== 0x58) return false;
  const sum = bytes.subarray(5 + length);
  if (sum.length === 0 || sum[0] !== 0x1a || sum.length !== 5) return false;
  const written = new DataView(sum.buffer, sum.byteOffset).getUint32(1);
  return crc32(bytes.subarray(5, 5 + length)) === written;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
