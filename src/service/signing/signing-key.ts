import { createECDH, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { LedgerError } from '../../kernel/errors.ts';
import { describeUnreadableKey } from './describe-unreadable-key.ts';

export type Curve = 'secp256k1' | 'prime256v1' | 'ed25519';

/** Forms of a public key that services request, as lower-case hex text. */
export type PublicKeyForms = {
  /** 33-byte point, or the 32 bytes of an Ed25519 key. */
  compact: string;
  /** X.509 SubjectPublicKeyInfo. */
  spki: string;
  /** 65-byte point; the same as `compact` for Ed25519. */
  uncompressed: string;
};

export type SigningKey = {
  privateKey: KeyObject;
  /** The 32 bytes of the private key. */
  secret: Buffer;
  curve: Curve;
  publicKey: PublicKeyForms;
};

// PKCS#8 up to the 32 bytes of the secret; OpenSSL derives the public part.
const pkcs8Prefix: Record<Curve, string> = {
  secp256k1: '303e020100301006072a8648ce3d020106052b8104000a042730250201010420',
  prime256v1: '3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420',
  ed25519: '302e020100300506032b657004220420',
};

const signingCurves: readonly string[] = Object.keys(pkcs8Prefix);

/**
 * Reads WALLET_API_SECRET: PEM, DER in hex (PKCS#8 or SEC1), or the bare 32 bytes in hex, read as a key of `bareCurve`.
 * For Ed25519 also reads seed and public key together. Throws a settings error that never contains the secret.
 */
export function parseSigningKey(
  secret: string,
  curves: readonly Curve[],
  bareCurve: Curve,
): SigningKey {
  const privateKey = readPrivateKey(secret.trim(), bareCurve);
  if (!privateKey) {
    throw new LedgerError(
      'settings',
      `WALLET_API_SECRET is not a readable private key: ${describeUnreadableKey(secret)}`,
    );
  }
  const curve = curves.find((candidate) => candidate === curveOf(privateKey));
  if (!curve) {
    throw new LedgerError(
      'settings',
      `WALLET_API_SECRET is a key for ${curveOf(privateKey)}, but WALLET_SIGNER needs ${curves.join(' or ')}`,
    );
  }
  return { privateKey, secret: secretOf(privateKey), curve, publicKey: publicKeyForms(privateKey) };
}

/** Says why no recipe can sign with this secret as a private key; null if one can. Never quotes it. */
export function findKeyMistake(secret: string): string | null {
  const key = readPrivateKey(secret.trim(), 'secp256k1');
  if (key === null) return describeUnreadableKey(secret);
  if (signingCurves.includes(curveOf(key))) return null;
  return `it is a key for ${curveOf(key)}, and recipes need one for secp256k1, prime256v1 or ed25519`;
}

function readPrivateKey(secret: string, bareCurve: Curve): KeyObject | null {
  // PEM in an environment variable often has its line ends written as \n.
  if (secret.startsWith('-----')) return privateKeyFrom(secret.replaceAll('\\n', '\n'), 'pem');
  const hex = secret.replace(/^0x/i, '');
  if (!/^(?:[0-9a-f]{2})+$/i.test(hex)) return null;
  if (hex.length === 64) {
    return privateKeyFrom(Buffer.from(pkcs8Prefix[bareCurve] + hex, 'hex'), 'pkcs8');
  }
  if (hex.length === 128 && bareCurve === 'ed25519') return seedWithPublicKey(hex);
  const der = Buffer.from(hex, 'hex');
  return privateKeyFrom(der, 'pkcs8') ?? privateKeyFrom(der, 'sec1');
}

function seedWithPublicKey(hex: string): KeyObject | null {
  const key = privateKeyFrom(Buffer.from(pkcs8Prefix.ed25519 + hex.slice(0, 64), 'hex'), 'pkcs8');
  return key && publicKeyForms(key).compact === hex.slice(64).toLowerCase() ? key : null;
}

// The cause is dropped on purpose, because it may contain parts of the secret.
function privateKeyFrom(key: string | Buffer, form: 'pem' | 'pkcs8' | 'sec1'): KeyObject | null {
  try {
    const privateKey =
      form === 'pem'
        ? createPrivateKey(key)
        : createPrivateKey({ key: Buffer.from(key), format: 'der', type: form });
    assertScalarInRange(privateKey);
    return privateKey;
  } catch {
    return null;
  }
}

// ECDH rejects a scalar beyond the curve's order, which OpenSSL's key parser accepts.
function assertScalarInRange(privateKey: KeyObject): void {
  const { namedCurve } = privateKey.asymmetricKeyDetails ?? {};
  if (namedCurve) createECDH(namedCurve).setPrivateKey(secretOf(privateKey));
}

function secretOf(privateKey: KeyObject): Buffer {
  return Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
}

function curveOf({ asymmetricKeyDetails, asymmetricKeyType }: KeyObject): string {
  return asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType ?? 'an unknown algorithm';
}

function publicKeyForms(privateKey: KeyObject): PublicKeyForms {
  const key = createPublicKey(privateKey);
  const { x = '', y } = key.export({ format: 'jwk' });
  const xHex = Buffer.from(x, 'base64url').toString('hex');
  const spki = key.export({ format: 'der', type: 'spki' }).toString('hex');
  if (y === undefined) return { compact: xHex, spki, uncompressed: xHex };
  const yBytes = Buffer.from(y, 'base64url');
  const sign = (yBytes.at(-1) ?? 0) % 2 === 0 ? '02' : '03';
  return { compact: sign + xHex, spki, uncompressed: `04${xHex}${yBytes.toString('hex')}` };
}
