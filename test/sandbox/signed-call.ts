import { createHash, createHmac, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts';

const secp256k1Prefix = '303e020100301006072a8648ce3d020106052b8104000a042730250201010420';
const ed25519Prefix = '302e020100300506032b657004220420';

type Target = Pick<Sandbox, 'baseUrl' | 'credentials'>;

export type Envelope = {
  code: number;
  msg: string;
  // biome-ignore lint/suspicious/noExplicitAny: the answers are what the tests look into
  data: any;
};

let lastNonce = Date.now();

export type CallOptions = {
  method?: string;
  query?: string;
  body?: string;
  nonce?: string;
  headers?: Record<string, string>;
};

/** One signed request to a sandbox, signed by the recipe of its credentials. */
export async function call(sandbox: Target, path: string, options: CallOptions = {}) {
  const { query = '', body = '', method = body ? 'POST' : 'GET' } = options;
  const nonce = options.nonce ?? String(++lastNonce);
  const url = new URL(`${sandbox.baseUrl}${path}${query && `?${query}`}`);
  const { apiKey } = sandbox.credentials;
  const text = textToSign(sandbox, { method, path: url.pathname, query, body, nonce });
  return fetch(url, {
    method,
    headers: {
      'BIZ-API-KEY': apiKey,
      'BIZ-API-NONCE': nonce,
      'BIZ-API-SIGNATURE': signText(sandbox, text),
      ...(body && { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body && { body }),
  });
}

export async function callJson(
  sandbox: Target,
  path: string,
  options?: CallOptions,
): Promise<Envelope> {
  const response = await call(sandbox, path, options);
  return response.json() as Promise<Envelope>;
}

const byText = (a: string, b: string) => (a < b ? -1 : 1);

type Parts = { method: string; path: string; query: string; body: string; nonce: string };

function textToSign(sandbox: Target, { method, path, query, body, nonce }: Parts): string {
  const { signer, apiKey } = sandbox.credentials;
  if (signer.startsWith('body')) return `${method}|${path}|${nonce}|${query}|${body}`;
  const fields = body ? Object.entries(JSON.parse(body) as Record<string, unknown>) : [];
  const pairs = [...new URLSearchParams(query), ...fields].map(([k, v]) => `${k}=${v}`);
  if (signer === 'concat-ecdsa') {
    const data = body === '' ? pairs.sort(byText).join('&') : body.replaceAll(' ', '');
    return `data${data}path${path}timestamp${nonce}version1.0.0${apiKey}`;
  }
  return `${method}|${path}|${nonce}|${pairs.sort(byText).join('&')}`;
}

function signText({ credentials: { signer, apiSecret } }: Target, text: string): string {
  const once = createHash('sha256').update(text).digest();
  if (signer.endsWith('hmac')) return createHmac('sha256', apiSecret).update(text).digest('hex');
  if (signer === 'concat-ecdsa') {
    return sign('sha256', Buffer.from(text), pkcs8(apiSecret)).toString('hex');
  }
  if (signer === 'body-ed25519') {
    const twice = createHash('sha256').update(once).digest();
    return sign(null, twice, pkcs8(ed25519Prefix + apiSecret)).toString('hex');
  }
  return sign('sha256', once, pkcs8(secp256k1Prefix + apiSecret)).toString('hex');
}

function pkcs8(hex: string): KeyObject {
  return createPrivateKey({ key: Buffer.from(hex, 'hex'), format: 'der', type: 'pkcs8' });
}
