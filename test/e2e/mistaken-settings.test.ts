import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const url = { WALLET_BASE_URL: 'http://127.0.0.1:9/api' };
const key = { WALLET_API_SECRET: '11'.repeat(32) };
/** The public key of another secret. */
const strangeKey = '02a3c02e0a220a00102b94c093fbea424c49743d47cefddd4a11c1035c92466445';

const cases: [string, string[], Record<string, string>, string[]][] = [
  [
    'missing and malformed ones',
    ['start'],
    { WALLET_PAGE_SIZE: '0' },
    ['WALLET_PAGE_SIZE', 'WALLET_BASE_URL', 'WALLET_API_SECRET'],
  ],
  [
    'a malformed one and an unreadable key',
    ['sync'],
    { ...url, WALLET_API_SECRET: 'zz', WALLET_PAGE_SIZE: '0' },
    ['WALLET_PAGE_SIZE', 'WALLET_API_SECRET'],
  ],
  [
    'a missing one and an unreadable key',
    ['verify'],
    { WALLET_API_SECRET: 'zz' },
    ['WALLET_BASE_URL', 'WALLET_API_SECRET'],
  ],
  [
    'the pools of a command that fills them',
    ['pool', 'refill'],
    { WALLET_API_SECRET: 'zz' },
    ['ADDRESS_POOLS', 'WALLET_BASE_URL', 'WALLET_API_SECRET'],
  ],
  [
    'a key that is not that of the secret, and an encoding that the recipe lacks',
    ['backfill'],
    { WALLET_API_SECRET: `302e020100300506032b657004220420${'11'.repeat(32)}` },
    ['WALLET_BASE_URL', 'WALLET_API_SECRET is a key for ed25519'],
  ],
  [
    'an encoding, and a key that contradicts the secret',
    ['sync'],
    {
      ...url,
      ...key,
      WALLET_SIGNER: 'body-ed25519',
      WALLET_SIGN_ENCODING: 'der-hex',
      WALLET_API_KEY: strangeKey,
    },
    ['WALLET_SIGN_ENCODING=der-hex', 'WALLET_API_KEY is not the public key'],
  ],
  [
    'a signer module that is missing',
    ['migrate', '--wallet-key'],
    { ...key, WALLET_SIGNER: './signer.mjs' },
    ['WALLET_BASE_URL', 'there is no module ./signer.mjs'],
  ],
  [
    'those of a command that compares the wallet',
    ['pool', 'take', '60'],
    { WALLET_API_SECRET: 'zz', WALLET_TIMEOUT: 'soon' },
    ['WALLET_API_SECRET', 'WALLET_TIMEOUT'],
  ],
  [
    'those of each wallet, under the names that they have there',
    ['start'],
    {
      WALLETS: 'eu,us',
      EU__WALLET_API_SECRET: 'zz',
      EU__WALLET_PAGE_SIZE: '0',
      US__WALLET_BASE_URL: 'http://127.0.0.1:9/api',
    },
    [
      'EU__WALLET_PAGE_SIZE',
      'EU__WALLET_BASE_URL',
      'EU__WALLET_API_SECRET is not a readable',
      'US__WALLET_API_SECRET: not set',
    ],
  ],
  [
    'those of the wallet that is named, of several',
    ['sync', '--wallet', 'eu'],
    { WALLETS: 'eu,us', ...url, EU__WALLET_API_SECRET: 'zz' },
    ['EU__WALLET_API_SECRET'],
  ],
];

test.each(cases)(
  'every mistake in the settings is named in one run: %s',
  async (_what, command, env, expected) => {
    const { code, stderr, stdout } = await runProgram(command, env);
    expect([code, stdout, stderr.trim().split('\n')]).toEqual([2, '', [expect.any(String)]]);
    for (const words of expected) expect(stderr).toContain(words);
    const count = expected.length === 1 ? '' : `${expected.length} mistakes in the settings: `;
    expect(stderr.startsWith(`wallet-ledger: ${count}`)).toBe(true);
    // A key that is derived does not have to be set.
    if (env['WALLET_API_KEY'] === undefined) expect(stderr).not.toContain('WALLET_API_KEY');
    expect(stderr).not.toMatch(/\bzz\b|1111/);
  },
);

test('a name that is no setting stands apart from the mistakes, which are counted', async () => {
  const { code, stderr } = await runProgram(['sync'], { WALLET_BASEURL: 'https://a.example' });
  expect(code).toBe(2);
  const [, count, list] =
    /(\d+) mistakes in the settings: (.*)\. Besides: WALLET_BASEURL/.exec(stderr) ?? [];
  expect(list?.match(/not set/g)).toHaveLength(Number(count));
});

test('a command that neither signs nor changes anything needs no credentials', async () => {
  const { code, stderr } = await runProgram(['status'], { WALLET_API_SECRET: 'zz' });
  expect([code, stderr]).toEqual([5, expect.stringContaining('there is no ledger')]);
});

test('doctor shows an unreadable key among the mistakes of the settings', async () => {
  const env = { ...url, WALLET_API_SECRET: 'zz', WALLET_PAGE_SIZE: '0' };
  const { code, stdout } = await runProgram(['doctor'], env);
  expect(code).toBe(2);
  for (const name of ['WALLET_PAGE_SIZE', 'WALLET_API_SECRET'])
    expect(stdout).toMatch(new RegExp(`^BAD +settings: ${name}`, 'm'));
});

test('a key in a file is corrected in the file: the error names the setting that names it', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'secret');
  writeFileSync(path, `"${key.WALLET_API_SECRET}"\n`, { mode: 0o600 });
  const { code, stderr } = await runProgram(['sync'], { ...url, WALLET_API_SECRET_FILE: path });
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(
      /WALLET_API_SECRET_FILE is not a readable private key: it stands in quotes/,
    ),
  ]);
  expect(stderr).not.toContain('1111');
});
