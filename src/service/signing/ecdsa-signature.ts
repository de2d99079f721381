import { type KeyObject, sign } from 'node:crypto';
import { sign as signSecp256k1 } from 'tiny-secp256k1';

const scalarBytes = 32;

/**
 * Signs a SHA-256 digest with the 32-byte secret of a secp256k1 key; returns r and s, 32 bytes each. libsecp256k1 takes
 * a third of OpenSSL's time, and its s is in the lower half, as strict verifiers require.
 */
export function signOnSecp256k1(digest: Buffer, secret: Uint8Array): Buffer {
  return Buffer.from(signSecp256k1(digest, secret));
}

/** Signs the SHA-256 of the message with a P-256 key; returns r and s, 32 bytes each. */
export function signOnP256(message: Buffer, key: KeyObject): Buffer {
  return sign('sha256', message, { key, dsaEncoding: 'ieee-p1363' });
}

/** Encodes r and s as the ASN.1 sequence (DER) that most services expect. */
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
  // A leading bit of 1 would mean a negative number.
  const padding = (digits[0] ?? 0) >= 0x80 ? [0] : [];
  return Buffer.concat([Buffer.from([0x02, digits.length + padding.length, ...padding]), digits]);
}
