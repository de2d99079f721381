import { createECDH, createHash, createPrivateKey, createPublicKey } from 'node:crypto';

export type SignerName =
  | 'params-secp256k1'
  | 'body-secp256k1'
  | 'body-ed25519'
  | 'concat-ecdsa'
  | 'params-hmac'
  | 'body-hmac';

export type SignHash = 'sha256' | 'sha256d';
export type SignEncoding = 'der-hex' | 'raw-hex' | 'der-base64' | 'raw-base64';

export type SigningRecipe = {
  /** Composition of the signed text. */
  form: 'params' | 'body' | 'concat';
  key: 'secp256k1' | 'ed25519' | 'ecdsa' | 'hmac';
  hash: SignHash;
  encoding: SignEncoding;
};

export const signingRecipes: Record<SignerName, SigningRecipe> = {
  'params-secp256k1': { form: 'params', key: 'secp256k1', hash: 'sha256d', encoding: 'der-hex' },
  'body-secp256k1': { form: 'body', key: 'secp256k1', hash: 'sha256d', encoding: 'der-hex' },
  'body-ed25519': { form: 'body', key: 'ed25519', hash: 'sha256d', encoding: 'raw-hex' },
  'concat-ecdsa': { form: 'concat', key: 'ecdsa', hash: 'sha256', encoding: 'der-hex' },
  'params-hmac': { form: 'params', key: 'hmac', hash: 'sha256', encoding: 'raw-hex' },
  'body-hmac': { form: 'body', key: 'hmac', hash: 'sha256', encoding: 'raw-hex' },
};

export type Credentials = { apiKey: string; apiSecret: string; signer: SignerName };

// DER prefixes of the PKCS#8 form, which end where the 32 bytes of the secret begin.
const ed25519Prefix = '302e020100300506032b657004220420';
const p256Prefix = '3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420';

/**
 * Creates credentials of a recipe. By default the secret is drawn from the seed, and the key is derived from the
 * secret; an HMAC key is derived from the seed.
 */
export function createCredentials(
  signer: SignerName,
  seed: number,
  given: { apiKey: string | null; apiSecret: string | null },
): Credentials {
  const { key } = signingRecipes[signer];
  const apiSecret = given.apiSecret ?? seededSecret(key, seed);
  return { signer, apiSecret, apiKey: given.apiKey ?? apiKeyOf(key, apiSecret, seed) };
}

function seededSecret(key: SigningRecipe['key'], seed: number): string {
  const scalar = createHash('sha256').update(`sandbox secret ${seed}`).digest('hex');
  if (key === 'hmac') return `sandbox-secret-${scalar.slice(0, 32)}`;
  if (key !== 'ecdsa') return scalar;
  const der = Buffer.from(p256Prefix + scalar, 'hex');
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return privateKey.export({ format: 'der', type: 'pkcs8' }).toString('hex');
}

function apiKeyOf(key: SigningRecipe['key'], apiSecret: string, seed: number): string {
  if (key === 'hmac') return `sandbox-key-${seed}`;
  if (key === 'secp256k1') {
    const curve = createECDH('secp256k1');
    curve.setPrivateKey(apiSecret, 'hex');
    return curve.getPublicKey('hex', 'compressed');
  }
  const der = Buffer.from(key === 'ed25519' ? ed25519Prefix + apiSecret : apiSecret, 'hex');
  const publicKey = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  return (key === 'ed25519' ? spki.subarray(-32) : spki).toString('hex');
}
