import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { filesRead } from '../../src/config/files-read.ts';
import { inspectSettings } from '../../src/config/parse-settings.ts';
import { settingsOfWallet } from '../../src/config/settings-of-wallet.ts';
import type { Environment } from '../../src/kernel/vocabulary.ts';
import { forAllSync } from '../support/for-all.ts';

const files: Record<string, string> = { '/run/a': 'file a\n', '/run/b': 'file-b' };

function readFile(path: string): string {
  const text = files[path];
  if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  return text;
}

function inspect(env: Environment) {
  return inspectSettings(env, readFile, { needs: ['service'] });
}

function accept(env: Environment) {
  const { settings, problems } = inspect(env);
  expect(problems).toEqual([]);
  return settings;
}

const service = { WALLET_BASE_URL: 'https://wallet.example.com' };
const secretA = 'aa'.repeat(32);
const secretB = 'bb'.repeat(32);
const two = {
  ...service,
  WALLETS: 'eu,us',
  EU__WALLET_API_SECRET: secretA,
  US__WALLET_API_SECRET: secretB,
};

/** Texts of settings that each wallet may have of its own; some of them are mistakes. */
const ownTexts = fc.record(
  {
    WALLET_BASE_URL: fc.constantFrom('https://a.example', 'https://b.example/', 'a.example', ' '),
    WALLET_API_SECRET: fc.constantFrom('of all', 'of one'),
    WALLET_API_KEY: fc.constantFrom('key-a', 'key b'),
    WALLET_SIGNER: fc.constantFrom('body-ed25519', 'params-hmac', './signer.mjs', 'rsa'),
    WALLET_MAX_RPS: fc.constantFrom('5', 'off', 'x'),
    WALLET_PAGE_SIZE: fc.constantFrom('10', '0'),
    WALLET_FINAL_STATES: fc.constantFrom('done, failed', 'success', ','),
    WALLET_SUCCESS_STATES: fc.constantFrom('done', 'success'),
    ADDRESS_POOLS: fc.constantFrom('60:5:10', '60:10:5'),
    POOL_MAX_PER_DAY: fc.constantFrom('7', 'many'),
    POOL_EXCLUSIVE: fc.constantFrom('true', 'no'),
  },
  { requiredKeys: [] },
);
const secretFiles = fc.record(
  {
    WALLET_API_SECRET_FILE: fc.constantFrom('/run/a', '/run/none'),
    WALLET_API_KEY_FILE: fc.constantFrom('/run/b', '/run/none'),
  },
  { requiredKeys: [] },
);
const sharedTexts = fc.record(
  {
    HTTP_PORT: fc.constantFrom('0', 'off', '65536'),
    HTTP_TOKEN: fc.constantFrom('a token', 'a-token'),
    ON_MOVE: fc.constantFrom('stop', 'go'),
    AUDIT_EVERY: fc.constantFrom('1m', 'soon'),
    WALLET_BASEURL: fc.constant('x'),
  },
  { requiredKeys: [] },
);

function withPrefix(prefix: string, env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).map(([name, text]) => [prefix + name, text]));
}

/** The same result, whatever order its sources were read in. */
function inOrder({ settings, problems }: ReturnType<typeof inspect>) {
  return {
    settings: {
      ...settings,
      secrets: settings.secrets.toSorted(),
      secretFiles: settings.secretFiles.toSorted(),
    },
    problems: problems.map((problem) => problem.replaceAll('MAIN__', '')).toSorted(),
  };
}

describe('one wallet', () => {
  test('is main, and its settings may have its prefix or none', () => {
    forAllSync(
      ownTexts,
      secretFiles,
      sharedTexts,
    )(100, (own, secrets, shared) => {
      const plain = inspect({ ...own, ...secrets, ...shared });
      expect(inspect({ ...own, ...secrets, ...shared, WALLETS: 'main' })).toEqual(plain);
      const prefixed = inspect({ ...withPrefix('MAIN__', { ...own, ...secrets }), ...shared });
      expect(inOrder(prefixed)).toEqual(inOrder(plain));
      const { wallet, walletNames, wallets, ...groups } = plain.settings;
      expect({ wallet, walletNames }).toEqual({ wallet: 'main', walletNames: ['main'] });
      expect(wallets).toMatchObject([
        { name: 'main', service: groups.service, pools: groups.pools, states: groups.states },
      ]);
      const other = inspect({ ...own, ...secrets, ...shared, WALLETS: 'eu' });
      expect(other.problems).toEqual(plain.problems);
      expect(other.settings).toMatchObject({ ...groups, wallet: 'eu' });
    });
  });

  test('its own variable goes before the one without a prefix', () => {
    const settings = accept({
      ...service,
      WALLET_API_SECRET_FILE: '/run/b',
      MAIN__WALLET_API_SECRET: secretA,
      WALLET_MAX_RPS: '1',
      MAIN__WALLET_MAX_RPS: '2',
    });
    expect(settings.service).toMatchObject({ apiSecret: secretA, maxRps: 2 });
    expect(settings.secrets).toEqual(expect.arrayContaining([secretA, 'file-b']));
  });
});

describe('several wallets', () => {
  test('each has the settings that it would have alone', () => {
    forAllSync(
      ownTexts,
      ownTexts,
      ownTexts,
      sharedTexts,
    )(100, (all, eu, us, shared) => {
      const { settings, problems } = inspect({
        ...all,
        ...withPrefix('EU__', eu),
        ...withPrefix('US__', us),
        ...shared,
        WALLETS: 'eu,us',
      });
      for (const [name, own] of Object.entries({ eu, us })) {
        const blank = Object.entries(own).filter(([, text]) => text.trim() !== '');
        const alone = inspect({ ...all, ...Object.fromEntries(blank), ...shared, WALLETS: name });
        const { secrets, warnings, secretFiles, wallets, walletNames, ...same } = alone.settings;
        const selected = settingsOfWallet(settings, name);
        expect(selected).toMatchObject(same);
        expect(selected.secrets).toEqual(expect.arrayContaining([...secrets]));
        if (alone.problems.length > 0) expect(problems).not.toEqual([]);
      }
      const { wallet, ...first } = settings;
      expect({ ...first, wallet }).toEqual(settingsOfWallet(settings, 'eu'));
    });
  });

  test('settings of a name that is not in WALLETS are a usage error that names those that are', () => {
    const settings = accept(two);
    expect(settings).toMatchObject({ wallet: 'eu', walletNames: ['eu', 'us'] });
    expect(settingsOfWallet(settings, 'us').service?.apiSecret).toBe(secretB);
    expect(() => settingsOfWallet(settings, 'UE')).toThrow(
      expect.objectContaining({
        code: 'usage',
        message: expect.stringContaining('"UE"'),
        cure: expect.stringContaining('eu, us'),
      }),
    );
  });

  test('a mistake is named by its variable, and one that holds for several wallets once', () => {
    const { problems } = inspect({
      ...two,
      WALLET_TIMEOUT: 'soon',
      EU__WALLET_MAX_RPS: 'x',
      US__WALLET_FINAL_STATES: 'settled',
      US__WALLET_API_KEY_FILE: '/run/none',
    });
    expect(problems).toEqual([
      expect.stringMatching(/^WALLET_TIMEOUT: "soon" is not valid/),
      expect.stringMatching(/^EU__WALLET_MAX_RPS: "x" is not valid; expected /),
      'US__WALLET_API_KEY_FILE: the file /run/none cannot be read (ENOENT)',
      expect.stringMatching(
        /^WALLET_SUCCESS_STATES: none of its default states is in US__WALLET_FINAL_STATES; /,
      ),
    ]);
  });

  test('a mistaken variable of one wallet does not give it the value of all', () => {
    const { settings } = inspect({
      ...two,
      WALLET_MAX_RPS: '3',
      EU__WALLET_MAX_RPS: 'x',
      WALLET_API_KEY: 'key-of-all',
      EU__WALLET_API_KEY_FILE: '/run/none',
    });
    expect(settings.wallets).toMatchObject([
      { service: { maxRps: 10, apiKey: null } },
      { service: { maxRps: 3, apiKey: 'key-of-all' } },
    ]);
  });

  test('what is missing is named for each wallet', () => {
    const { problems } = inspect({
      WALLETS: 'eu,us',
      US__WALLET_BASE_URL: 'https://us.example',
      US__WALLET_API_SECRET: secretB,
      US__WALLET_SIGNER: 'params-hmac',
    });
    expect(problems).toEqual([
      expect.stringMatching(/^EU__WALLET_BASE_URL \(or WALLET_BASE_URL\): not set; expected: /),
      expect.stringMatching(
        /^EU__WALLET_API_SECRET: not set \(nor EU__WALLET_API_SECRET_FILE\); expected: /,
      ),
      'US__WALLET_API_KEY: not set (nor US__WALLET_API_KEY_FILE); params-hmac needs it',
    ]);
  });

  test('[S2] the secrets and files of all wallets are known, those with a mistyped prefix too', () => {
    const { settings } = inspect({
      ...service,
      WALLETS: 'eu,us,EU',
      EU__WALLET_API_SECRET_FILE: '/run/a',
      EU__WALLET_SIGNER: './eu.mjs',
      US__WALLET_API_SECRET: secretB,
      US__WALLET_API_KEY_FILE: '/run/b',
      US__WALLET_SIGNER: './us.mjs',
      UE__WALLET_API_SECRET: 'of no wallet',
      eu__WALLET_API_KEY: 'in small letters',
    });
    expect(settings.secrets.toSorted()).toEqual(
      [
        files['/run/a']?.trim(),
        secretB,
        files['/run/b'],
        'of no wallet',
        'in small letters',
      ].toSorted(),
    );
    expect(settings.secretFiles).toEqual(['/run/a', '/run/b']);
    expect(filesRead(settings).join()).toMatch(/run\/a.*run\/b.*eu\.mjs.*us\.mjs/);
  });
});

describe('one key in two wallets', () => {
  test('is a mistake at one service that names both and never the key', () => {
    for (const other of [secretA, ` ${secretA}`, `0x${secretA.toUpperCase()}`]) {
      expect(inspect({ ...two, US__WALLET_API_SECRET: other }).problems).toEqual([
        'EU__WALLET_API_SECRET, US__WALLET_API_SECRET: one key for the wallets eu and us; each wallet needs a key of its own, in EU__WALLET_API_SECRET and US__WALLET_API_SECRET',
      ]);
    }
  });

  test('is one mistake if the secret has no prefix', () => {
    const env = { ...service, WALLETS: 'eu,us,asia', WALLET_API_SECRET: secretA };
    expect(inspect(env).problems).toEqual([
      expect.stringMatching(/^WALLET_API_SECRET: one key for the wallets eu, us and asia; /),
    ]);
    expect(inspect({ ...env, US__WALLET_API_SECRET: secretB }).problems).toEqual([
      expect.stringMatching(/^WALLET_API_SECRET: one key for the wallets eu and asia; /),
    ]);
    accept({ ...two, EU__WALLET_API_SECRET: '', WALLET_API_SECRET: secretA });
  });

  test('is none at different services: a secret without a prefix holds for all', () => {
    const env = { ...service, WALLETS: 'main,eu', WALLET_API_SECRET: secretA };
    const { wallets } = accept({ ...env, EU__WALLET_BASE_URL: 'https://eu.example' });
    expect(wallets.map((each) => each.service?.apiSecret)).toEqual([secretA, secretA]);
    const same = inspect({ ...env, EU__WALLET_BASE_URL: `${service.WALLET_BASE_URL}/` });
    expect(same.problems).toEqual([
      expect.stringMatching(/^WALLET_API_SECRET: one key for the wallets main and eu; /),
    ]);
  });

  test('is a mistake of the API key at one address', () => {
    const env = { ...two, WALLET_SIGNER: 'body-hmac', WALLET_API_KEY: 'key-of-both' };
    const { problems } = inspect(env);
    expect(problems).toEqual([
      'WALLET_API_KEY: one key for the wallets eu and us; each wallet needs a key of its own, in EU__WALLET_API_KEY and US__WALLET_API_KEY',
    ]);
    accept({ ...env, US__WALLET_BASE_URL: 'https://us.example' });
    accept({ ...env, US__WALLET_API_KEY: 'key-of-us' });
    expect(inspect({ ...env, US__WALLET_API_SECRET: secretA }).problems).toHaveLength(1);
  });
});

describe('WALLETS', () => {
  test.each([
    ['Eu', 'name 1 with lower-case letters, digits and _ only, and a letter first'],
    ['eu,9', 'name 2 with lower-case letters'],
    ['eu,', 'name 2 with lower-case letters'],
    ['a'.repeat(33), 'name 1 with at most 32 characters'],
    ['e__u', 'name 1 without two _ in a row'],
    ['eu,us_', 'name 2 without _ at its end'],
    ['eu,us,eu', 'name 3 other than name 1, which is eu too'],
    [Array.from({ length: 101 }, (_, index) => `w${index}`).join(), 'at most 100 names'],
  ])('refuses %s', (text, expected) => {
    const { problems } = inspectSettings({ WALLETS: text }, readFile);
    expect(problems).toEqual([expect.stringContaining(expected)]);
    expect(problems[0]).toMatch(/^WALLETS: /);
  });

  test('has all its mistakes named at once, together with those of the valid names', () => {
    const { settings, problems } = inspect({
      ...two,
      WALLETS: 'eu,US,us_',
      EU__WALLET_TIMEOUT: 'soon',
    });
    expect(problems).toEqual([
      expect.stringMatching(/^WALLETS: .*name 2 with .*, name 3 without/),
      expect.stringMatching(/^EU__WALLET_TIMEOUT/),
    ]);
    expect(settings.warnings).toEqual([]);
  });

  test('accepts 100 names of 32 characters', () => {
    const names = Array.from({ length: 100 }, (_, index) => `w${String(index).padStart(31, '0')}`);
    const { settings, problems } = inspectSettings({ WALLETS: names.join(' , ') }, readFile);
    expect(problems).toEqual([]);
    expect(settings.walletNames).toEqual(names);
  });
});

test('a variable with a prefix that sets nothing causes a warning', () => {
  const warningsOf = (names: string[]) =>
    accept({ ...two, ...Object.fromEntries(names.map((name) => [name, 'x'])) }).warnings;
  for (const [name, warning] of [
    ['UE__WALLET_BASE_URL', ' belongs to no wallet in WALLETS; did you mean EU__WALLET_BASE_URL?'],
    ['us__ADDRESS_POOLS', ' belongs to no wallet in WALLETS; did you mean US__ADDRESS_POOLS?'],
    ['NORTH__WALLET_API_SECRET_FILE', ' belongs to no wallet in WALLETS'],
    ['EU__HTTP_PORT', ' has no effect: HTTP_PORT cannot be set per wallet; leave the prefix out'],
    ['EU__ON_MOVE', ' has no effect: ON_MOVE cannot be set per wallet; leave the prefix out'],
    ['EU__WALLETS', ' has no effect: WALLETS cannot be set per wallet; leave the prefix out'],
    ['EU__WALLET_BASEURL', ' is not a setting; did you mean EU__WALLET_BASE_URL?'],
    ['EU__POOLS_FOR_EVERYTHING', ' is not a setting'],
    ['EU_POOL_SETTLE', ' is not a setting; did you mean EU__POOL_SETTLE?'],
    ['WALLET', ' is not a setting; did you mean WALLETS?'],
  ] as const)
    expect(warningsOf([name])).toEqual([name + warning]);
  expect(warningsOf(['Logging__LogLevel', 'EU_CENTRAL', '__', 'HTTP_PROXY'])).toEqual([]);
});
