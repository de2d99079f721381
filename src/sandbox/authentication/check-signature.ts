import {
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { Credentials, SigningRecipe } from './signing-recipes.ts';

/** Data that a signature may cover, as received. */
export type SignedCall = {
  method: string;
  /** Whole path, including the base path. */
  path: string;
  /** Query as sent, without the question mark. */
  rawQuery: string;
  /** '' for a request without a body. */
  body: string;
  nonce: string;
  apiKey: string;
};

/** Returns the text that the recipe signs, or null when the recipe cannot sign the body. */
export function signedText(form: SigningRecipe['form'], call: SignedCall): string | null {
  const { method, path, rawQuery, body, nonce, apiKey } = call;
  if (form === 'body') return [method, path, nonce, rawQuery, body].join('|');
  const params = sortedParams(rawQuery, form === 'params' ? body : '');
  if (params === null) return null;
  if (form === 'params') return [method, path, nonce, params].join('|');
  const data = method === 'GET' ? params : body.replace(/[ \r\n]/g, '');
  return `data${data}path${path}timestamp${nonce}version1.0.0${apiKey}`;
}

/** Creates the signature check of one key. A malformed signature is a wrong one, never an error. */
export function createSignatureCheck(
  recipe: SigningRecipe,
  { apiKey, apiSecret }: Pick<Credentials, 'apiKey' | 'apiSecret'>,
): (text: string, signature: string) => boolean {
  if (recipe.key === 'hmac') {
    return (text, signature) => {
      const expected = createHmac('sha256', apiSecret).update(text, 'utf8').digest();
      const bytes = decodeSignature(recipe, signature);
      return bytes?.length === expected.length && timingSafeEqual(bytes, expected);
    };
  }
  const publicKey = readPublicKey(recipe.key, apiKey);
  return (text, signature) => {
    const bytes = decodeSignature(recipe, signature);
    return bytes !== null && isSignedBy(publicKey, recipe, text, bytes);
  };
}

function isSignedBy(key: KeyObject, recipe: SigningRecipe, text: string, signature: Buffer) {
  const digest = recipe.hash === 'sha256d' ? sha256(Buffer.from(text)) : Buffer.from(text);
  if (recipe.key === 'ed25519') return verify(null, sha256(digest), key, signature);
  // verify() applies SHA-256 itself, so only the first hash of `sha256d` is computed here.
  const dsaEncoding = recipe.encoding.startsWith('raw') ? 'ieee-p1363' : 'der';
  return verify('sha256', digest, { key, dsaEncoding }, signature);
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function decodeSignature(recipe: SigningRecipe, signature: string): Buffer | null {
  const isHex = recipe.encoding.endsWith('hex');
  const shape = isHex ? /^(?:[0-9a-f]{2})+$/ : /^[A-Za-z0-9+/]+={0,2}$/;
  return shape.test(signature) ? Buffer.from(signature, isHex ? 'hex' : 'base64') : null;
}

// DER prefix of the SPKI form, which ends where the key begins.
const spkiPrefix = {
  secp256k1: '3036301006072a8648ce3d020106052b8104000a032200',
  ed25519: '302a300506032b6570032100',
  ecdsa: '',
};

function readPublicKey(key: keyof typeof spkiPrefix, apiKey: string): KeyObject {
  const der = Buffer.from(spkiPrefix[key] + apiKey, 'hex');
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
}

function sortedParams(rawQuery: string, body: string): string | null {
  const fields = bodyFields(body);
  if (fields === null) return null;
  const params = [...new URLSearchParams(rawQuery), ...fields];
  params.sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
  return params.map(([name, value]) => `${name}=${value}`).join('&');
}

// The recipe covers flat bodies only: nested values and null are refused.
function bodyFields(body: string): [string, string][] | null {
  if (body === '') return [];
  try {
    const fields = Object.entries(JSON.parse(body) as object);
    const isFlat = fields.every(([, value]) => value !== null && typeof value !== 'object');
    return isFlat ? fields.map(([name, value]) => [name, String(value)]) : null;
  } catch {
    return null;
  }
}
