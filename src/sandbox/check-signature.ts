import {
  createHash,
  createHmac,
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { Credentials, SigningRecipe } from './signing-recipes.ts';

/** What a signature may cover, as it came over the wire. */
export type SignedCall = {
  method: string;
  /** The whole path, base path included. */
  path: string;
  /** The query as sent, without the question mark. */
  rawQuery: string;
  /** '' when there is none. */
  body: string;
  nonce: string;
  apiKey: string;
};

/** The text that the recipe signs, or null when the body cannot be put into it. */
export function signedText(form: SigningRecipe['form'], call: SignedCall): string | null {
  const { method, path, rawQuery, body, nonce, apiKey } = call;
  if (form === 'body') return [method, path, nonce, rawQuery, body].join('|');
  const params = sortedParams(rawQuery, form === 'params' ? body : '');
  if (params === null) return null;
  if (form === 'params') return [method, path, nonce, params].join('|');
  const data = method === 'GET' ? params : body.replace(/[ \r\n]/g, '');
  return `data${data}path${path}timestamp${nonce}version1.0.0${apiKey}`;
}

/** A check of signatures by one key. Anything malformed is a wrong signature, never an error. */
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
  // verify() hashes once itself.
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

// SPKI up to the key itself.
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

// Nested values and null have no place in the recipe.
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
