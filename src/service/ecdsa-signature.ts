import { type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

// A signature over secp256k1 takes about a millisecond: on its own thread, beside everything else.
const signAside = promisify(sign);

const secp256k1Order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const scalarBytes = 32;

/**
 * Signs SHA-256 of the message with a secp256k1 or P-256 key and returns r and s, 32 bytes each. Verifiers built
 * on libsecp256k1 refuse the upper half of s, so secp256k1 always gets the lower one; P-256 stays as it comes.
 */
export async function signEcdsa(message: Buffer, key: KeyObject): Promise<Buffer> {
  const signature = await signAside('sha256', message, { key, dsaEncoding: 'ieee-p1363' });
  if (key.asymmetricKeyDetails?.namedCurve !== 'secp256k1') return signature;
  const s = BigInt(`0x${signature.toString('hex', scalarBytes)}`);
  if (s <= secp256k1Order / 2n) return signature;
  const lowS = (secp256k1Order - s).toString(16).padStart(2 * scalarBytes, '0');
  return Buffer.concat([signature.subarray(0, scalarBytes), Buffer.from(lowS, 'hex')]);
}

/** r and s of `signEcdsa` as the ASN.1 sequence that most services expect. */
export function encodeDer(signature: Buffer): Buffer {
  const integers = Buffer.concat([
    derInteger(signature.subarray(0, scalarBytes)),
    derInteger(signature.subarray(scalarBytes)),
  ]);
  return Buffer.concat([Buffer.from([0x30, integers.length]), integers]);
}

function derInteger(scalar: Buffer): Buffer {
  const firstUsed = scalar.findIndex((byte) => byte !== 0);
  const digits = scalar.subarray(firstUsed === -1 ? scalar.length - 1 : firstUsed);
  // A leading bit of 1 would read as a negative number.
  const padding = (digits[0] ?? 0) >= 0x80 ? [0] : [];
  return Buffer.concat([Buffer.from([0x02, digits.length + padding.length, ...padding]), digits]);
}
