import { createHmac, hash as oneShotHash, sign } from 'node:crypto';
import { encodeDer, signOnP256, signOnSecp256k1 } from './ecdsa-signature.ts';
import type { Curve, PublicKeyForms, SigningKey } from './signing-key.ts';
import { type StringToSign, signBody, signConcatenation, signParams } from './string-to-sign.ts';

export type SigningHash = 'sha256' | 'sha256d';
export type SignatureEncoding = 'der-hex' | 'raw-hex' | 'der-base64' | 'raw-base64';

/** Parameters of one way to sign; docs/wallet-service-api.md, section 5, shows none. */
export type SigningRecipe = {
  stringToSign: StringToSign;
  /** Accepted curves, first the one assumed for a bare 32-byte secret; empty for a shared secret. */
  curves: readonly Curve[];
  hash: SigningHash;
  encoding: SignatureEncoding;
  /** Form of the public key in BIZ-API-KEY. */
  apiKeyForm: keyof PublicKeyForms;
};

export const signingRecipes = {
  'params-secp256k1': {
    stringToSign: signParams,
    curves: ['secp256k1'],
    hash: 'sha256d',
    encoding: 'der-hex',
    apiKeyForm: 'compact',
  },
  'body-secp256k1': {
    stringToSign: signBody,
    curves: ['secp256k1'],
    hash: 'sha256d',
    encoding: 'der-hex',
    apiKeyForm: 'compact',
  },
  'body-ed25519': {
    stringToSign: signBody,
    curves: ['ed25519'],
    hash: 'sha256d',
    encoding: 'raw-hex',
    apiKeyForm: 'compact',
  },
  'concat-ecdsa': {
    stringToSign: signConcatenation,
    curves: ['prime256v1', 'secp256k1'],
    hash: 'sha256',
    encoding: 'der-hex',
    apiKeyForm: 'spki',
  },
  'params-hmac': {
    stringToSign: signParams,
    curves: [],
    hash: 'sha256',
    encoding: 'raw-hex',
    apiKeyForm: 'compact',
  },
  'body-hmac': {
    stringToSign: signBody,
    curves: [],
    hash: 'sha256',
    encoding: 'raw-hex',
    apiKeyForm: 'compact',
  },
} as const satisfies Record<string, SigningRecipe>;

export type SigningRecipeName = keyof typeof signingRecipes;

export function isSigningRecipeName(name: string): name is SigningRecipeName {
  return Object.hasOwn(signingRecipes, name);
}

/** Returns the digest that the key signs: SHA-256 of the text, once or twice. */
export function digestOf(text: string, hash: SigningHash): Buffer {
  const once = sha256(text);
  return hash === 'sha256d' ? sha256(once) : once;
}

/** Signs the digest of the text; returns the value of BIZ-API-SIGNATURE. */
export function signWithKey(
  text: string,
  key: SigningKey,
  hash: SigningHash,
  encoding: SignatureEncoding,
): string {
  return encodeSignature(signDigest(text, key, hash), encoding);
}

function signDigest(text: string, { curve, privateKey, secret }: SigningKey, hash: SigningHash) {
  if (curve === 'secp256k1') return signOnSecp256k1(digestOf(text, hash), secret);
  if (curve === 'ed25519') return sign(null, digestOf(text, hash), privateKey);
  // Signing on P-256 adds one SHA-256 of its own.
  return signOnP256(hash === 'sha256d' ? sha256(text) : Buffer.from(text), privateKey);
}

/** Returns HMAC-SHA256 under the shared secret, over the text or (`sha256d`) over its SHA-256. */
export function signWithSecret(
  text: string,
  secret: string,
  hash: SigningHash,
  encoding: SignatureEncoding,
): string {
  const message = hash === 'sha256d' ? sha256(text) : text;
  return encodeSignature(createHmac('sha256', secret).update(message).digest(), encoding);
}

function encodeSignature(raw: Buffer, encoding: SignatureEncoding): string {
  const bytes = encoding.startsWith('der-') ? encodeDer(raw) : raw;
  return bytes.toString(encoding.endsWith('-hex') ? 'hex' : 'base64');
}

function sha256(data: string | Buffer): Buffer {
  return oneShotHash('sha256', data, 'buffer');
}
