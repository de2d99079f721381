import { createHash } from 'node:crypto';

const letters = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const generator = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const values = new Map([...letters].map((letter, value) => [letter, value]));

/** Encodes a bech32 text (BIP 173) from the prefix and the letters of its data; appends the checksum of six letters. */
export function bech32Text(prefix: string, data: string): string {
  let checksum = 1;
  for (let i = 0; i < prefix.length; i++) checksum = step(checksum, prefix.charCodeAt(i) >> 5);
  checksum = step(checksum, 0);
  for (let i = 0; i < prefix.length; i++) checksum = step(checksum, prefix.charCodeAt(i) & 31);
  for (const letter of data) checksum = step(checksum, values.get(letter) ?? 0);
  for (let i = 0; i < 6; i++) checksum = step(checksum, 0);
  checksum ^= 1;
  let text = `${prefix}1${data}`;
  for (let i = 5; i >= 0; i--) text += letters[(checksum >> (5 * i)) & 31];
  return text;
}

function step(checksum: number, value: number): number {
  const top = checksum >>> 25;
  let next = ((checksum & 0x1ffffff) << 5) ^ value;
  for (let bit = 0; bit < 5; bit++) if ((top >> bit) & 1) next ^= generator[bit] ?? 0;
  return next;
}

const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** 58 to the power of 9: the largest group of digits that a double holds exactly. */
const nineDigits = 58n ** 9n;

/** Encodes a base58 text from the version (not 0) and 20 bytes in hexadecimal, with its checksum. */
export function base58Text(version: number, hex: string): string {
  const bytes = Buffer.from(version.toString(16).padStart(2, '0') + hex, 'hex');
  const checksum = sha256(sha256(bytes)).subarray(0, 4);
  let left = BigInt(`0x${bytes.toString('hex')}${checksum.toString('hex')}`);
  let text = '';
  for (; left > 0n; left /= nineDigits) {
    let nine = Number(left % nineDigits);
    for (let i = 0; i < 9; i++) {
      text = `${digits[nine % 58]}${text}`;
      nine = Math.floor(nine / 58);
    }
  }
  return text.replace(/^1+/, '');
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}
