import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LedgerError } from '../../src/kernel/errors.ts';
import { createSigner, type SignerOptions } from '../../src/service/signing/create-signer.ts';
import { encodeDer } from '../../src/service/signing/ecdsa-signature.ts';
import { findKeyMistake, parseSigningKey } from '../../src/service/signing/signing-key.ts';
import { signWithKey } from '../../src/service/signing/signing-recipes.ts';
import { buildRequest, type RequestParts } from '../../src/service/transport/build-request.ts';
import vectors from '../fixtures/signing-vectors.json' with { type: 'json' };

type Vector = {
  id: string;
  scheme: string;
  curve: string;
  hash: string;
  secretHex?: string;
  secretText?: string;
  pkcs8Hex?: string;
  apiKey: string;
  method?: string;
  path?: string;
  query?: string;
  body?: string | null;
  nonce?: string;
  stringToSign: string;
  digest?: string;
  sig: string;
};

const all: Vector[] = vectors;
const requestVectors = all.filter((vector) => vector.method !== undefined);
const recipes: Record<string, string> = {
  'params secp256k1': 'params-secp256k1',
  'body ed25519': 'body-ed25519',
  'concat secp256k1': 'concat-ecdsa',
  'concat prime256v1': 'concat-ecdsa',
  'params hmac': 'params-hmac',
};
const secret = '6d59626f7ffffa64f8a6b36e9fcc9551b54a1dfebb973606d24578adecebfbaf';
const otherKey = '02e0f72b60ca8c3341aced89f3dbb829c5c4549cae37abd86a8270c3a8f172b51a';

function optionsOf(vector: Vector): SignerOptions {
  return {
    signer: recipes[`${vector.scheme} ${vector.curve}`] ?? '',
    apiSecret: vector.secretHex ?? vector.pkcs8Hex ?? vector.secretText ?? '',
    ...(vector.curve === 'hmac' && { apiKey: vector.apiKey }),
  };
}

function requestOf({ method, path, query, body, nonce }: Vector) {
  const parts: RequestParts = {
    method: method === 'POST' ? 'POST' : 'GET',
    path: path ?? '',
    query: [...new URLSearchParams(query)],
    ...(body && { json: JSON.parse(body) as Record<string, unknown> }),
  };
  return buildRequest('https://service.example', parts, nonce ?? '');
}

function verifies({ stringToSign, hash, apiKey }: Vector, signatureHex: string): boolean {
  const prefix = apiKey.length === 66 ? '3036301006072a8648ce3d020106052b8104000a032200' : '';
  const key = createPublicKey({
    key: Buffer.from(prefix + apiKey, 'hex'),
    format: 'der',
    type: 'spki',
  });
  const text = Buffer.from(stringToSign);
  const message = hash === 'sha256d' ? createHash('sha256').update(text).digest() : text;
  return verify('sha256', message, key, Buffer.from(signatureHex, 'hex'));
}

async function failureOf(options: Partial<SignerOptions>): Promise<LedgerError> {
  return await createSigner({ signer: 'params-secp256k1', apiSecret: secret, ...options }).then(
    () => expect.fail('a signer was made'),
    (error: LedgerError) => error,
  );
}

describe('the signing recipes', () => {
  it.each(requestVectors)('reproduce the known signature of $id', async (vector) => {
    const signer = await createSigner(optionsOf(vector));
    const request = requestOf(vector);
    const { signature } = await signer.sign(request);
    const description = signer.describe?.(request);

    expect(signer.apiKey).toBe(vector.apiKey);
    expect(description?.stringToSign).toBe(vector.stringToSign);
    if (vector.digest) expect(description?.digestHex).toBe(vector.digest);
    if (vector.curve === 'hmac' || vector.curve === 'ed25519') expect(signature).toBe(vector.sig);
    else expect(verifies(vector, signature)).toBe(true);
  });

  it.each(all.filter(({ curve }) => curve === 'secp256k1' || curve === 'prime256v1'))(
    'create a verifiable ECDSA signature if $id has one',
    (vector) => {
      const key = parseSigningKey(
        vector.secretHex ?? vector.pkcs8Hex ?? '',
        ['secp256k1', 'prime256v1'],
        vector.curve === 'secp256k1' ? 'secp256k1' : 'prime256v1',
      );
      const hash = vector.hash === 'sha256d' ? 'sha256d' : 'sha256';
      expect(verifies(vector, vector.sig)).toBe(true);
      expect(verifies(vector, signWithKey(vector.stringToSign, key, hash, 'der-hex'))).toBe(true);
    },
  );

  it('sign the base path, the encoded query and the body exactly as sent', async () => {
    const query: Array<[string, string]> = [['orderNo', 'a b&c']];
    const parts: RequestParts = { method: 'GET', path: '/v1/x', query };
    const request = buildRequest('https://service.example/api/', parts, '1');
    const body = await createSigner({ signer: 'body-secp256k1', apiSecret: secret });
    const params = await createSigner({ signer: 'params-secp256k1', apiSecret: secret });
    expect(request.url.href).toBe('https://service.example/api/v1/x?orderNo=a+b%26c');
    expect(body.describe?.(request).stringToSign).toBe('GET|/api/v1/x|1|orderNo=a+b%26c|');
    expect(params.describe?.(request).stringToSign).toBe('GET|/api/v1/x|1|orderNo=a b&c');
  });

  it('keep secp256k1 signatures in the lower half, so that strict verifiers accept them', () => {
    const half = BigInt('0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0');
    const key = parseSigningKey(secret, ['secp256k1'], 'secp256k1');
    for (let index = 0; index < 60; index += 1) {
      const message = Buffer.from(`message ${index}`);
      const signature = Buffer.from(
        signWithKey(message.toString(), key, 'sha256', 'raw-hex'),
        'hex',
      );
      expect(BigInt(`0x${signature.toString('hex', 32)}`) <= half).toBe(true);
      expect(verify('sha256', message, key.privateKey, encodeDer(signature))).toBe(true);
    }
  });

  it('encode signatures raw or DER, as hex or base64', async () => {
    const request = buildRequest('https://service.example', { method: 'GET', path: '/p' }, '1');
    for (const [encoding, form] of [
      ['der-hex', /^30[0-9a-f]{130,144}$/],
      ['raw-hex', /^[0-9a-f]{128}$/],
      ['der-base64', /^M[A-Za-z0-9+/]+=*$/],
      ['raw-base64', /^[A-Za-z0-9+/]{86}==$/],
    ] as const) {
      const signer = await createSigner({
        signer: 'params-secp256k1',
        apiSecret: secret,
        encoding,
      });
      expect((await signer.sign(request)).signature).toMatch(form);
    }
  });
});

describe('the secret', () => {
  it('can be a scalar, PEM, PKCS#8 or SEC1, all with the same key', async () => {
    const { privateKey } = parseSigningKey(secret, ['secp256k1'], 'secp256k1');
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    const forms = [
      secret,
      ` 0x${secret.toUpperCase()}\n`,
      pem,
      pem.replaceAll('\n', '\\n'),
      privateKey.export({ format: 'der', type: 'pkcs8' }).toString('hex'),
      privateKey.export({ format: 'der', type: 'sec1' }).toString('hex'),
    ];
    const keys = await Promise.all(
      forms.map(
        async (apiSecret) => (await createSigner({ signer: 'body-secp256k1', apiSecret })).apiKey,
      ),
    );
    expect(new Set(keys)).toEqual(
      new Set(['02a3c02e0a220a00102b94c093fbea424c49743d47cefddd4a11c1035c92466445']),
    );
  });

  it('of Ed25519 may have its public key behind the seed', async () => {
    const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
    const publicKey = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
    const signer = await createSigner({ signer: 'body-ed25519', apiSecret: seed + publicKey });
    expect(signer.apiKey).toBe(publicKey);
    const error = await failureOf({ signer: 'body-ed25519', apiSecret: seed + seed });
    expect(error.message).toContain('WALLET_API_SECRET');
  });

  it('may determine the form of the API key, if the key belongs to it', async () => {
    const uncompressed = parseSigningKey(secret, ['secp256k1'], 'secp256k1').publicKey.uncompressed;
    const signer = await createSigner({
      signer: 'params-secp256k1',
      apiSecret: secret,
      apiKey: uncompressed,
    });
    expect(signer.apiKey).toBe(uncompressed);
  });

  it('takes its curve from the API key next to it if the recipe allows several', async () => {
    const { publicKey } = parseSigningKey(secret, ['secp256k1'], 'secp256k1');
    const options = { signer: 'concat-ecdsa', apiSecret: secret };
    const signer = await createSigner({ ...options, apiKey: publicKey.spki });
    expect(signer.apiKey).toBe(publicKey.spki);
    expect((await createSigner(options)).apiKey).toMatch(/^3059/);
  });

  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 })
    .privateKey.export({ format: 'pem', type: 'pkcs8' })
    .toString();
  it.each<[string, Partial<SignerOptions>, string]>([
    ['a foreign API key', { apiKey: otherKey }, 'WALLET_API_KEY'],
    ['no hex', { apiSecret: `zz${secret}` }, 'WALLET_API_SECRET'],
    ['a short scalar', { apiSecret: secret.slice(2) }, 'WALLET_API_SECRET'],
    ['a scalar of zero', { apiSecret: '00'.repeat(32) }, 'WALLET_API_SECRET'],
    ['a scalar beyond the order', { apiSecret: 'ff'.repeat(32) }, 'WALLET_API_SECRET'],
    ['a broken PEM', { apiSecret: `-----BEGIN PRIVATE KEY-----\n${secret}` }, 'WALLET_API_SECRET'],
    ['another kind of key', { apiSecret: rsa }, 'WALLET_API_SECRET'],
    [
      'a broken PEM as an hmac secret',
      {
        signer: 'params-hmac',
        apiKey: 'id-1',
        apiSecret: `-----BEGIN PRIVATE KEY-----\n${secret}`,
      },
      'WALLET_API_SECRET',
    ],
    [
      'a private key as an hmac secret',
      { signer: 'body-hmac', apiKey: 'id-1', apiSecret: rsa },
      'WALLET_API_SECRET',
    ],
    ['hmac without a key', { signer: 'params-hmac' }, 'WALLET_API_KEY'],
    [
      'DER of what has none',
      { signer: 'body-ed25519', encoding: 'der-hex' },
      'WALLET_SIGN_ENCODING',
    ],
    ['an unknown recipe', { signer: 'params-secp256' }, 'WALLET_SIGNER'],
    ['a missing module', { signer: './nowhere.mjs' }, 'WALLET_SIGNER'],
  ])(
    'never appears in the error for %s, which names the setting',
    async (_what, options, setting) => {
      const error = await failureOf(options);
      expect(error.code).toBe('settings');
      expect(error.message).toContain(setting);
      const shown = inspect(error, { depth: 10, showHidden: true });
      for (const part of [secret.slice(2), rsa.slice(40, 80)]) expect(shown).not.toContain(part);
    },
  );
});

describe('a secret that is not a private key', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
  const pem = String(ec.privateKey.export({ format: 'pem', type: 'pkcs8' })).trim();
  const encrypted = { cipher: 'aes-256-cbc', passphrase: 'x' };
  const publicPem = String(ec.publicKey.export({ format: 'pem', type: 'spki' }));
  const publicDer = ec.publicKey.export({ format: 'der', type: 'spki' }).toString('hex');

  it.each([
    ['in quotes', `"${pem}"`, 'in quotes'],
    ['PEM on one line', pem.replaceAll('\n', ' '), 'on one line'],
    ['PEM that was cut', pem.slice(0, -20), 'without its last line'],
    [
      'an encrypted one',
      String(ec.privateKey.export({ format: 'pem', type: 'pkcs8', ...encrypted })),
      'encrypted',
    ],
    ['a public key', publicPem, 'is a public key'],
    ['a public key in DER', publicDer, 'is a public key'],
    ['a public key as a point', publicDer.slice(-130), 'is a public key'],
    ['hex that was cut', 'ab'.repeat(31), 'has 62 hexadecimal digits'],
    [
      'DER in base64',
      ec.privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
      'base64',
    ],
    ['any text', 'correct horse battery', 'it is text'],
  ])('is described by its apparent kind, and not shown: %s', async (_what, apiSecret, words) => {
    const error = await failureOf({ apiSecret });
    expect(error.message).toContain(words);
    expect(findKeyMistake(apiSecret)).toContain(words);
    expect(error.message).not.toContain(apiSecret.slice(-12, -2));
  });

  it('is described by its curve if none of the recipes has it', () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).privateKey;
    const mistake = findKeyMistake(String(other.export({ format: 'pem', type: 'pkcs8' })));
    expect(mistake).toContain('a key for secp384r1');
  });
});

describe('a custom signer', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'signer-'));
  });
  afterAll(async () => await rm(folder, { recursive: true }));

  async function load(name: string, source: string) {
    const path = join(folder, `${name}.mjs`);
    await writeFile(path, source);
    return await createSigner({ signer: path, apiSecret: secret, env: { MY_KEY: 'k1' } });
  }

  it('is created from the module, which may read the environment', async () => {
    const signer = await load(
      'good',
      `export default async ({ env, options }) => ({
         apiKey: env.MY_KEY,
         async sign(request) {
           return { signature: request.path + options.apiSecret.length, nonce: '7', headers: { 'x-a': 'b' } };
         },
       });`,
    );
    const request = buildRequest('https://service.example', { method: 'GET', path: '/v1/x' }, '1');
    expect(signer.apiKey).toBe('k1');
    expect(await signer.sign(request)).toEqual({
      signature: '/v1/x64',
      nonce: '7',
      headers: { 'x-a': 'b' },
    });
  });

  it('that fails to sign is reported without the secret', async () => {
    const signer = await load(
      'failing',
      `export default ({ options }) => ({
         apiKey: 'k', sign() { throw new Error('cannot sign with ' + options.apiSecret); },
       });`,
    );
    const request = buildRequest('https://service.example', { method: 'GET', path: '/v1/x' }, '1');
    const error = await Promise.resolve(signer.sign(request)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'service-authentication' });
    expect(inspect(error, { depth: 10 })).toContain('cannot sign with ***');
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(secret);
  });

  it.each([
    ['none', 'export const x = 1;'],
    ['half', 'export default () => ({ apiKey: "k" });'],
    ['throwing', 'export default ({ options }) => { throw new Error(options.apiSecret); };'],
  ])('that is not a signer (%s) is a mistake in WALLET_SIGNER', async (name, source) => {
    const error: unknown = await load(name, source).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'settings' });
    expect(String(error)).toContain('WALLET_SIGNER');
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(secret);
  });
});
