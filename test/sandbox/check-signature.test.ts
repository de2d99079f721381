import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  createSignatureCheck,
  signedText,
} from '../../src/sandbox/authentication/check-signature.ts';
import { createNonceMemory } from '../../src/sandbox/authentication/nonce-memory.ts';
import {
  type SignerName,
  signingRecipes,
} from '../../src/sandbox/authentication/signing-recipes.ts';
import { call } from './signed-call.ts';
import { withSandbox } from './with-sandbox.ts';

type Vector = {
  id: string;
  scheme: string;
  curve: string;
  apiKey: string;
  secretText?: string;
  method?: string;
  path?: string;
  query?: string;
  body?: string | null;
  nonce?: string;
  stringToSign: string;
  sig: string;
};

const fixture = new URL('../fixtures/signing-vectors.json', import.meta.url);
const vectors = JSON.parse(readFileSync(fixture, 'utf8')) as Vector[];

function recipeOf({ scheme, curve }: Vector) {
  if (scheme === 'concat') return signingRecipes['concat-ecdsa'];
  const form = scheme === 'body' ? 'body' : 'params';
  return signingRecipes[`${form}-${curve}` as SignerName];
}

describe('a known signature', () => {
  test.each(vectors.map((vector) => [vector.id, vector] as const))(
    '%s is accepted',
    (_, vector) => {
      const recipe = recipeOf(vector);
      const { apiKey, method, path, query = '', nonce = '', body, stringToSign } = vector;
      if (method && path) {
        const parts = { method, path, rawQuery: query, body: body ?? '', nonce, apiKey };
        expect(signedText(recipe.form, parts)).toBe(stringToSign);
      }
      const isSigned = createSignatureCheck(recipe, { apiKey, apiSecret: vector.secretText ?? '' });
      expect(isSigned(stringToSign, vector.sig)).toBe(true);
      expect(isSigned(`${stringToSign} `, vector.sig)).toBe(false);
      for (const wrong of ['', 'zz', '00', vector.sig.slice(2), `${vector.sig}00`]) {
        expect(isSigned(stringToSign, wrong)).toBe(false);
      }
    },
  );
});

describe.each(Object.keys(signingRecipes) as SignerName[])('over HTTP %s', (signer) => {
  test('accepts correctly signed requests, and no others', async () => {
    const sandbox = await withSandbox({ signer, transactions: 20 });
    const query = 'type=deposit&pageNo=1&pageSize=5';
    const status = async (path: string, options: Parameters<typeof call>[2]) =>
      (await call(sandbox, path, options)).status;
    expect(await status('/v1/transaction/list', { query })).toBe(200);
    expect(await status('/v1/wallet/balance', {})).toBe(200);
    expect(await status('/v1/wallet/address', { body: '{"slip44":60,"num":1}' })).toBe(200);

    const { apiKey } = sandbox.credentials;
    const refused: Record<string, string>[] = [
      { 'BIZ-API-SIGNATURE': '3006020101020101' },
      { 'BIZ-API-NONCE': '1700000000000' },
      { 'BIZ-API-KEY': `${apiKey.slice(0, -1)}${apiKey.endsWith('0') ? '1' : '0'}` },
      { 'BIZ-API-KEY': '' },
      { 'BIZ-API-NONCE': '' },
      { 'BIZ-API-SIGNATURE': '' },
    ];
    for (const headers of refused) {
      const answer = await call(sandbox, '/v1/transaction/list', { query, headers });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ code: expect.any(Number), data: null });
    }
    expect(sandbox.stats.signatureFailures).toBe(refused.length);
    expect(sandbox.stats.nonces).toBe(3);
  });

  test('derives its credentials from the seed', async () => {
    const [a, b, c] = [
      await withSandbox({ signer, seed: 5 }),
      await withSandbox({ signer, seed: 5 }),
      await withSandbox({ signer, seed: 6 }),
    ];
    expect(a.credentials).toEqual(b.credentials);
    expect(c.credentials.apiSecret).not.toBe(a.credentials.apiSecret);
  });
});

describe('a nonce', () => {
  test('is accepted once', async () => {
    const sandbox = await withSandbox();
    const nonce = '1750000000000';
    expect((await call(sandbox, '/v1/wallet/coin', { nonce })).status).toBe(200);
    expect((await call(sandbox, '/v1/wallet/coin', { nonce })).status).toBe(401);
    expect((await call(sandbox, '/v1/wallet/coin', { nonce: 'abc' })).status).toBe(401);
    expect(sandbox.stats).toMatchObject({ nonces: 1, noncesReused: 2 });
  });

  test('is not checked if configured so', async () => {
    const sandbox = await withSandbox({ nonceChecking: false });
    const nonce = '1750000000000';
    await call(sandbox, '/v1/wallet/coin', { nonce });
    expect((await call(sandbox, '/v1/wallet/coin', { nonce })).status).toBe(200);
  });

  test('that is no longer stored is refused for its age', () => {
    const memory = createNonceMemory(3);
    const taken = ['5', '9', '7', '8', '10'].map((nonce) => memory.use(nonce));
    expect(taken).toEqual([true, true, true, true, true]);
    expect(['5', '9', '6', '8', '11'].map((nonce) => memory.use(nonce))).toEqual([
      false,
      false,
      false,
      false,
      true,
    ]);
  });
});

test('a sandbox without a signer requires no headers', async () => {
  const sandbox = await withSandbox({ signer: 'none' });
  const answer = await fetch(`${sandbox.baseUrl}/v1/wallet/coin`);
  expect(answer.status).toBe(200);
});
