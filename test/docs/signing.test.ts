import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSigner } from '../../src/service/signing/create-signer.ts';
import type { RequestToSign } from '../../src/service/signing/signer.ts';
import { type SigningRecipe, signingRecipes } from '../../src/service/signing/signing-recipes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const page = readFileSync('docs/signing.md', 'utf8');

/** The cells of the table of recipes, by the name of the recipe. */
function recipeRows(): Map<string, string[]> {
  const rows = [...page.matchAll(/^\| `([a-z0-9-]+)`(?: \(default\))? \| (.+) \|$/gm)];
  return new Map(
    rows.map(([, name = '', cells = '']) => [
      name,
      cells.split(/(?<!\\) \| /).map((cell) => cell.replaceAll('\\|', '|').replaceAll('`', '')),
    ]),
  );
}

const request: RequestToSign = {
  method: 'POST',
  url: new URL('https://wallet.example/api/v1/wallet/address?b=2&a=1'),
  path: '/api/v1/wallet/address',
  query: [
    ['b', '2'],
    ['a', '1'],
  ],
  rawQuery: 'b=2&a=1',
  body: '{"slip44": 60}',
  json: { slip44: 60 },
  nonce: '1700000000000',
};

test('the table of recipes is that of the program', () => {
  const rows = recipeRows();
  expect([...rows.keys()]).toEqual(Object.keys(signingRecipes));
  for (const [name, recipe] of Object.entries<SigningRecipe>(signingRecipes)) {
    const [text = '', hash = '', key = '', signature = '', apiKey = ''] = rows.get(name) ?? [];
    const words: Record<string, string> = {
      METHOD: 'POST',
      PATH: request.path,
      NONCE: request.nonce,
      PARAMS: 'a=1&b=2&slip44=60',
      QUERY: 'b=2&a=1',
      BODY: request.body,
      DATA: '{"slip44":60}',
      KEY: 'key',
    };
    const filled = text.replace(/\{?([A-Z]+)\}?/g, (_, word: string) => words[word] ?? word);
    expect([name, recipe.stringToSign(request, 'key')]).toEqual([name, filled]);
    const isHmac = recipe.curves.length === 0;
    const hashWords = recipe.hash === 'sha256d' ? 'SHA-256 twice' : 'SHA-256 once';
    expect([name, hash]).toEqual([name, isHmac ? 'HMAC-SHA256' : hashWords]);
    for (const curve of recipe.curves)
      expect(key.toLowerCase()).toContain(curve === 'prime256v1' ? 'p-256' : curve);
    expect(signature.startsWith('DER')).toBe(recipe.encoding.startsWith('der'));
    expect(signature.includes('hex')).toBe(recipe.encoding.endsWith('hex'));
    expect(apiKey.includes('SPKI')).toBe(recipe.apiKeyForm === 'spki');
  }
});

test("the example of a signer of one's own loads, signs, and distinguishes valid answers from invalid ones", async () => {
  const [, example = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const directory = temporaryFolder();
  const path = join(directory, 'my-signer.mjs');
  writeFileSync(path, example);
  const options = { signer: path, apiSecret: 'shared secret', env: { MY_KEY_ID: 'key-7' } };
  const signer = await createSigner(options);
  expect(signer.apiKey).toBe('key-7');
  const hmac = (text: string) =>
    createHmac('sha512', options.apiSecret).update(text).digest('base64');
  expect(await signer.sign(request)).toEqual({
    signature: hmac(`1700000000000POST${request.path}?b=2&a=1${request.body}`),
    headers: { 'X-Signature-Version': '2' },
  });
  const answer = (signature: string) => ({
    status: 200,
    headers: new Headers({ 'X-Signature': signature }),
    rawBody: '{"code":0}',
  });
  await signer.verifyResponse?.(answer(hmac('{"code":0}')));
  await expect(signer.verifyResponse?.(answer(hmac('{"code":1}')))).rejects.toThrow(
    'the answer is not signed by the service',
  );
});

test('the commands and settings that the page names exist', () => {
  const program = readFileSync('src/cli/command-line/status-commands.ts', 'utf8');
  for (const option of ['--sign', '--try-variants']) expect(program).toContain(option);
});
