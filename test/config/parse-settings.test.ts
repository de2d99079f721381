import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inspectSettings, parseSettings } from '../../src/config/parse-settings.ts';
import { LedgerError } from '../../src/kernel/errors.ts';
import { forAllSync } from '../support/for-all.ts';

const service = {
  WALLET_BASE_URL: 'https://wallet.example.com/base/',
  WALLET_API_SECRET: '11'.repeat(32),
};

function noFile(path: string): string {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT', path });
}

function parse(env: Record<string, string | undefined>, readFile = noFile) {
  return parseSettings({ ...service, ...env }, readFile, { needs: ['service'] });
}

function mistake(env: Record<string, string | undefined>, readFile = noFile): string {
  try {
    parse(env, readFile);
  } catch (error) {
    if (error instanceof LedgerError && error.code === 'settings') return error.message;
    throw error;
  }
  throw new Error('the settings were accepted');
}

describe('parseSettings', () => {
  test('gives every setting its default', () => {
    const settings = parse({});
    expect(settings).toMatchObject({
      service: {
        baseUrl: 'https://wallet.example.com/base',
        apiKey: null,
        signer: 'params-secp256k1',
        signHash: null,
        signEncoding: null,
        nonceUnit: 'ms',
        paramNames: { page: 'pageNo', size: 'pageSize', chain: 'slip44', type: 'type' },
        maxRps: 10,
        concurrency: 8,
        timeoutMs: 15_000,
      },
      lists: { pageSize: 100, order: 'auto' },
      database: { url: null, dataDir: '.wallet-ledger', poolSize: 10 },
      queue: { redisUrl: null, prefix: 'wallet-ledger' },
      schedule: {
        transactionsEveryMs: 15_000,
        detailsEveryMs: 10_000,
        balancesEveryMs: 60_000,
        coinsEveryMs: 3_600_000,
        addressesEveryMs: 600_000,
        poolsEveryMs: 60_000,
        auditEveryMs: 3_600_000,
        auditCycleMs: 604_800_000,
      },
      retention: { runsMs: 2_592_000_000, resolvedMs: 31_536_000_000 },
      pools: { chains: [], areSet: false, maxPerDay: 10_000, settleMs: 10_000 },
      http: { host: '127.0.0.1', port: 8080, token: null },
      log: { level: 'info', format: null },
      warnings: [],
    });
    expect(settings.states.final.size).toBe(20);
    expect(settings.states.success.size).toBe(8);
  });

  test('an empty or blank variable is not set', () => {
    expect(parse({ WALLET_TIMEOUT: '', WALLET_PAGE_SIZE: '  ' })).toMatchObject({
      service: { timeoutMs: 15_000 },
      lists: { pageSize: 100 },
    });
  });

  test('a command without need of the service runs without its settings', () => {
    expect(parseSettings({}, noFile).service).toBeNull();
    expect(() => parseSettings({ WALLET_TIMEOUT: 'soon' }, noFile)).toThrow('WALLET_TIMEOUT');
  });

  test('names the bounds of a duration in the largest unit that fits', () => {
    expect(mistake({ KEEP_RUNS: '1m' })).toContain('from 1h to 36500d');
    expect(mistake({ WALLET_TIMEOUT: '0s' })).toContain('from 1ms to ');
  });

  test('names every mistake at once', () => {
    const message = mistake({
      WALLET_BASE_URL: undefined,
      WALLET_API_SECRET: undefined,
      WALLET_TIMEOUT: '15 parsecs',
      HTTP_PORT: '65536',
      ADDRESS_POOLS: '60:5:4',
      REDIS_URL: 'http://127.0.0.1',
    });
    for (const name of [
      'WALLET_BASE_URL',
      'WALLET_API_SECRET',
      'WALLET_TIMEOUT: "15 parsecs"',
      'HTTP_PORT: "65536"',
      'ADDRESS_POOLS',
      'REDIS_URL',
    ]) {
      expect(message).toContain(name);
    }
    expect(message).toMatch(/^6 mistakes/);
    expect(message).not.toContain('\n');
  });

  test.each([
    ['500ms', 500],
    ['15s', 15_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
    ['off', null],
  ])('reads the duration %s', (text, ms) => {
    expect(parse({ AUDIT_EVERY: text }).schedule.auditEveryMs).toBe(ms);
  });

  test.each(['15', 's', '-1s', '0s', '1w', '1h30m', '100d', '1e3ms'])(
    'refuses the duration %s',
    (text) => {
      expect(mistake({ AUDIT_EVERY: text })).toContain('AUDIT_EVERY: ');
    },
  );

  test('a time limit cannot be switched off', () => {
    expect(mistake({ WALLET_TIMEOUT: 'off' })).toContain('WALLET_TIMEOUT');
  });

  test.each([
    ['0.5', 0.5],
    ['100000', 100_000],
    ['off', null],
  ])('reads the request rate %s', (text, rate) => {
    expect(parse({ WALLET_MAX_RPS: text }).service.maxRps).toBe(rate);
  });

  test.each(['0', '-1', '100000.1', 'NaN', '1e3', '0x10'])(
    'refuses the request rate %s',
    (text) => {
      expect(mistake({ WALLET_MAX_RPS: text })).toContain('WALLET_MAX_RPS');
    },
  );

  test.each([
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
    ['http://[::1]:3000/api/', 'http://[::1]:3000/api'],
    ['http://localhost', 'http://localhost'],
    ['https://wallet.example.com//', 'https://wallet.example.com'],
  ])('accepts the service address %s', (text, baseUrl) => {
    expect(parse({ WALLET_BASE_URL: text }).service.baseUrl).toBe(baseUrl);
  });

  test.each([
    'http://wallet.example.com',
    'http://127.0.0.1.example.com',
    'https://name:password@wallet.example.com',
    'https://wallet.example.com/?key=password',
    'https://wallet.example.com/#password',
    'ftp://wallet.example.com',
    'wallet.example.com',
  ])('refuses the service address %s', (text) => {
    const message = mistake({ WALLET_BASE_URL: text });
    expect(message).toMatch(/^WALLET_BASE_URL: /);
    expect(message).not.toContain('password@');
    expect(message).not.toContain('key=');
  });

  test('http to another machine needs its name, says how, and is warned of', () => {
    const address = 'http://wallet.internal:8080/api';
    expect(mistake({ WALLET_BASE_URL: address })).toContain(
      'set WALLET_PLAIN_HTTP_HOST=wallet.internal',
    );
    const named = { WALLET_BASE_URL: address, WALLET_PLAIN_HTTP_HOST: 'Wallet.internal' };
    const { service: allowed, warnings } = parse(named);
    expect(allowed.baseUrl).toBe(address);
    expect(warnings).toEqual([expect.stringMatching(/without encryption.*wallet\.internal/)]);
    expect(mistake({ ...named, WALLET_PLAIN_HTTP_HOST: 'other.internal' })).toContain('https');
    expect(mistake({ ...named, WALLET_PLAIN_HTTP_HOST: '*' })).toContain('WALLET_PLAIN_HTTP_HOST');
    const six = { WALLET_BASE_URL: 'http://[fd00::7]/', WALLET_PLAIN_HTTP_HOST: 'fd00::7' };
    expect(parse(six).warnings).toHaveLength(1);
    expect(parse({ WALLET_PLAIN_HTTP_HOST: 'wallet.internal' }).warnings).toEqual([]);
  });

  test('of several wallets one may be reached by http, under its own name', () => {
    const two = {
      WALLETS: 'eu,us',
      WALLET_API_SECRET: undefined,
      EU__WALLET_API_SECRET: '22'.repeat(32),
      US__WALLET_API_SECRET: '33'.repeat(32),
      US__WALLET_BASE_URL: 'http://us.internal',
    };
    expect(mistake(two)).toMatch(/^US__WALLET_BASE_URL: http to another machine/);
    expect(parse({ ...two, US__WALLET_PLAIN_HTTP_HOST: 'us.internal' }).warnings).toEqual([
      expect.stringMatching(/^US__WALLET_BASE_URL is reached without encryption/),
    ]);
  });

  test('parameter names that are not named keep their default', () => {
    expect(parse({ WALLET_PARAM_NAMES: 'page=p, size=s' }).service.paramNames).toEqual({
      page: 'p',
      size: 's',
      chain: 'slip44',
      type: 'type',
    });
  });

  test.each([
    'pages=p',
    'page',
    'page=',
    'page=a,page=b',
    'page=a=b',
    'page=x,size=x',
    '__proto__=x',
  ])('refuses the parameter names %s', (text) => {
    expect(mistake({ WALLET_PARAM_NAMES: text })).toContain('WALLET_PARAM_NAMES');
  });

  test('states are trimmed and lower-cased, and success states must be final', () => {
    const { states } = parse({
      WALLET_FINAL_STATES: 'Done, BROKEN',
      WALLET_SUCCESS_STATES: ' DONE ',
    });
    expect([...states.final]).toEqual(['done', 'broken']);
    expect([...states.success]).toEqual(['done']);
    expect(mistake({ WALLET_FINAL_STATES: 'broken', WALLET_SUCCESS_STATES: 'done' })).toContain(
      'WALLET_SUCCESS_STATES: done',
    );
  });

  test('the default of one set of states never contradicts the other set', () => {
    const { states } = parse({ WALLET_FINAL_STATES: 'success,failed' });
    expect([...states.final]).toEqual(['success', 'failed']);
    expect([...states.success]).toEqual(['success']);
    const given = parse({ WALLET_SUCCESS_STATES: 'settled' }).states;
    expect([...given.success]).toEqual(['settled']);
    expect(given.final).toContain('settled');
    expect(given.final).toContain('failed');
    expect(mistake({ WALLET_FINAL_STATES: 'settled,broken' })).toContain(
      'WALLET_SUCCESS_STATES: none of its default states is in WALLET_FINAL_STATES',
    );
  });

  test('reads address pools', () => {
    expect(parse({ ADDRESS_POOLS: '60:500:1000, 0:50:50' }).pools.chains).toEqual([
      { slip44: 60, threshold: 500, target: 1000 },
      { slip44: 0, threshold: 50, target: 50 },
    ]);
  });

  test.each(['60', '60:5', '60:0:5', '60:6:5', '-1:1:2', '60:1:2:3', '60:1:2,60:1:2', '60:1:2,'])(
    'refuses the address pools %s',
    (text) => {
      expect(mistake({ ADDRESS_POOLS: text })).toContain('ADDRESS_POOLS');
    },
  );

  test('[S7] status pages off loopback need a token, unless they are off', () => {
    expect(mistake({ HTTP_HOST: '0.0.0.0' })).toContain('HTTP_TOKEN');
    expect(parse({ HTTP_HOST: '0.0.0.0', HTTP_PORT: 'off' }).http).toBeNull();
    expect(parse({ HTTP_HOST: '[::1]', HTTP_PORT: '0' }).http).toMatchObject({
      host: '::1',
      port: 0,
    });
    const token = 'sixteen-letters-';
    expect(parse({ HTTP_HOST: '0.0.0.0', HTTP_TOKEN: token }).http?.token).toBe(token);
    const short = token.slice(1);
    const told = mistake({ HTTP_HOST: '0.0.0.0', HTTP_TOKEN: short });
    expect(told).toContain('HTTP_TOKEN: fewer than 16 characters');
    expect(told).not.toContain(short);
    expect(parse({ HTTP_TOKEN: short }).http?.token).toBe(short);
  });

  test('[S7] the token of hints has at least 16 characters that a path may hold, and is not that of the pages', () => {
    const token = 'sixteen_letters-';
    expect(parse({ HINT_TOKEN: token })).toMatchObject({
      http: { hintToken: token },
      secrets: expect.arrayContaining([token]),
    });
    expect(parse({}).http?.hintToken).toBeNull();
    for (const wrong of [
      token.slice(1),
      'with/a/slash/in/it',
      'with a space in it',
      'x'.repeat(201),
    ]) {
      const told = mistake({ HINT_TOKEN: wrong });
      expect(told).toContain('HINT_TOKEN');
      expect(told).not.toContain(wrong);
    }
    const same = mistake({ HINT_TOKEN: token, HTTP_TOKEN: token });
    expect(same).toContain('HINT_TOKEN: the same as HTTP_TOKEN');
    expect(same).not.toContain(token);
  });

  test('[S7] the token of the feed has at least 16 characters, and opens nothing else', () => {
    const token = 'sixteen_letters-';
    expect(parse({ FEED_TOKEN: token })).toMatchObject({
      http: { feedToken: token },
      secrets: expect.arrayContaining([token]),
    });
    expect(parse({}).http?.feedToken).toBeNull();
    expect(mistake({ FEED_TOKEN: token.slice(1) })).toContain('FEED_TOKEN');
    for (const other of ['HTTP_TOKEN', 'HINT_TOKEN']) {
      const same = mistake({ FEED_TOKEN: token, [other]: token });
      expect(same).toContain(`FEED_TOKEN: the same as ${other}`);
      expect(same).not.toContain(token);
    }
  });

  const whsec = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;

  test('[S2] reads the receivers of webhooks with their secrets, which are never shown', () => {
    const env = {
      FEED_WEBHOOKS: 'shop=https://shop.example.com/hooks?t=1, crm=http://127.0.0.1:9/',
      FEED_WEBHOOK_SHOP_SECRET: `${whsec}, ${other}`,
      FEED_WEBHOOK_CRM_SECRET_FILE: '/run/crm',
      FEED_WEBHOOK_CRM_PRIVATE: 'yes',
      FEED_WEBHOOK_OLD_SECRET: 'x',
    };
    const settings = parse(env, () => `${other}\n`);
    expect(settings.feed.webhooks).toEqual([
      {
        name: 'shop',
        url: 'https://shop.example.com/hooks?t=1',
        secrets: [whsec, other],
        isPrivateAllowed: false,
      },
      { name: 'crm', url: 'http://127.0.0.1:9/', secrets: [other], isPrivateAllowed: true },
    ]);
    expect(settings.secrets).toEqual(expect.arrayContaining([whsec, other]));
    expect(settings.secretFiles).toContain('/run/crm');
    expect(settings.warnings).toEqual([
      'FEED_WEBHOOK_OLD_SECRET is set, but FEED_WEBHOOKS names no such receiver',
    ]);
    expect(parse({}).feed.webhooks).toEqual([]);
  });

  test.each([
    ['shop=http://shop.example.com/', 'https for shop'],
    ['shop=https://me:pw@shop.example.com/', 'without a user name'],
    ['Shop=https://a.example/', 'lower-case'],
    ['shop', 'name=https://'],
    ['shop=ftp://a.example/', 'name=https://'],
    ['shop=https://a.example/,shop=https://b.example/', 'each name only once'],
  ])('[S19] refuses %s as a receiver', (text, expected) => {
    const words = mistake({ FEED_WEBHOOKS: text, FEED_WEBHOOK_SHOP_SECRET: whsec });
    expect(words).toContain('FEED_WEBHOOKS');
    expect(words).toContain(expected);
    expect(words).not.toContain('pw');
  });

  test.each([
    undefined,
    'whsec_c2hvcnQ=',
    Buffer.alloc(32, 7).toString('base64'),
    `${whsec} ${other} ${whsec}`,
    `whsec_${'!'.repeat(32)}`,
  ])('[S2] refuses the secret %s of a receiver, and says what to do', (secret) => {
    const env = { FEED_WEBHOOKS: 'shop=https://a.example/', FEED_WEBHOOK_SHOP_SECRET: secret };
    const words = mistake(env);
    expect(words).toContain('FEED_WEBHOOK_SHOP_SECRET');
    expect(words).toContain('openssl rand -base64 32');
    if (secret !== undefined) expect(words).not.toContain(secret);
  });

  test.each(['./signer.mjs', '/opt/signer', 'signer.cjs', 'signer.js', 'signer.ts'])(
    'takes %s as the path of a signer module',
    (path) => {
      expect(parse({ WALLET_SIGNER: path }).service.signer).toBe(path);
    },
  );

  test('refuses a signer that is neither a recipe nor a path', () => {
    expect(mistake({ WALLET_SIGNER: 'rsa' })).toContain('params-secp256k1');
  });

  test('hmac signers need a key', () => {
    expect(mistake({ WALLET_SIGNER: 'params-hmac' })).toContain('WALLET_API_KEY');
    expect(parse({ WALLET_SIGNER: 'body-hmac', WALLET_API_KEY: 'id-1' }).service.apiKey).toBe(
      'id-1',
    );
  });

  test('a secret may come from a file, without its last line end', () => {
    const files: Record<string, string> = { '/run/secret': 'from the file\r\n' };
    const readFile = (path: string) => files[path] ?? noFile(path);
    const env = { WALLET_API_SECRET: '', WALLET_API_SECRET_FILE: '/run/secret' };
    expect(parse(env, readFile).service.apiSecret).toBe('from the file');
    expect(mistake({ WALLET_API_SECRET_FILE: '/run/secret' }, readFile)).toContain('keep one');
    expect(mistake({ ...env, WALLET_API_SECRET_FILE: '/run/none' }, readFile)).toBe(
      'WALLET_API_SECRET_FILE: the file /run/none cannot be read (ENOENT)',
    );
  });

  test('a mistake never holds a secret', () => {
    const message = mistake({
      HTTP_TOKEN: 'with a space',
      WALLET_API_KEY: 'key\nkey',
      DATABASE_URL: 'mysql://u:hunter22@db/x',
      REDIS_URL: 'hunter33@cache',
      WALLET_LIST_ORDER: service.WALLET_API_SECRET,
    });
    expect(message).toMatch(/^5 mistakes/);
    expect(message).not.toMatch(/with a space|key.key|hunter|1111/);
  });

  test('[S2] what a collector of traces and libpq are given is among the secrets', () => {
    const { secrets } = parse({
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20collector-token%2F1,x-tenant=blue',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'api-key=0123456789abcdef',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://me:collector-password@traces.example',
      PGPASSWORD: 'password of libpq',
    });
    expect(secrets).toEqual([
      service.WALLET_API_SECRET,
      'password of libpq',
      'collector-password',
      'collector-token%2F1',
      'collector-token/1',
      '0123456789abcdef',
    ]);
  });

  test('passwords of addresses are among the secrets, unless they repeat a name', () => {
    const { secrets } = parse({
      DATABASE_URL: 'postgres://u:p%40ss@127.0.0.1/x',
      REDIS_URL: 'rediss://cache:cache@h',
    });
    expect(secrets).toEqual([service.WALLET_API_SECRET, 'p%40ss', 'p@ss']);
  });

  test('names similar to settings cause a warning', () => {
    expect(
      parse({ WALLET_BASEURL: 'x', SYNC_EVERYTHING_ALWAYS: 'x', HTTP_PROXY: 'x' }).warnings,
    ).toEqual([
      'SYNC_EVERYTHING_ALWAYS is not a setting',
      'WALLET_BASEURL is not a setting; did you mean WALLET_BASE_URL?',
    ]);
  });

  test.each([
    ['ADRESS_POOLS', 'ADDRESS_POOLS'],
    ['WALET_API_KEY', 'WALLET_API_KEY'],
    ['WALET_API_SECRET_FILES', 'WALLET_API_SECRET_FILE'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['REDIS_URI', 'REDIS_URL'],
    ['AUDITEVERY', 'AUDIT_EVERY'],
    ['ON_MVOE', 'ON_MOVE'],
    ['HTTP_PROT', 'HTTP_PORT'],
    ['HTTP_PRT', 'HTTP_PORT'],
    ['HTTP_TOKN', 'HTTP_TOKEN'],
  ])('%s causes a warning that names %s, unless that is set as well', (name, meant) => {
    const warnings = [`${name} is not a setting; did you mean ${meant}?`];
    expect(parse({ [name]: 'x' }).warnings).toEqual(warnings);
    const both = inspectSettings({ [name]: 'x', [meant]: 'x' }, noFile).settings.warnings;
    expect(both.filter((warning) => warning.includes(name))).toEqual([]);
  });

  test('a mistake is told together with the names that are not those of settings', () => {
    expect(
      mistake({ WALLET_BASE_URL: undefined, WALLET_BASEURL: 'https://wallet.example' }),
    ).toMatch(
      /^WALLET_BASE_URL: not set.*\. Besides: WALLET_BASEURL is not a setting; did you mean WALLET_BASE_URL\?$/,
    );
  });

  test('variables of the system and of other programs cause no warning', () => {
    const names = [
      ...[
        'PATH',
        'HOME',
        'HOSTNAME',
        'LANG',
        'LC_ALL',
        'PWD',
        'OLDPWD',
        'SHLVL',
        'SHELL',
        'TERM',
        'TZ',
        'USER',
      ],
      ...[
        'HTTP_PROXY',
        'HTTPS_PROXY',
        'HTTPS_PORT',
        'HTTPS_HOST',
        'NO_PROXY',
        'ALL_PROXY',
        'HOST',
        'PORT',
        'CI',
      ],
      ...[
        'REDIS_PORT',
        'REDIS_HOST',
        'REDIS_SERVICE_HOST',
        'POSTGRES_URL',
        'PGDATABASE',
        'DATABASE_USER',
      ],
      ...[
        'DATABASE_NAME',
        'TEST_DATABASE_URL',
        'TEST_REDIS_URL',
        'LOGLEVEL',
        'LOG_FILE',
        'LOGNAME',
        'LOG_DIR',
      ],
      ...[
        'NODE_ENV',
        'NODE_OPTIONS',
        'npm_config_cache',
        'OTEL_SERVICE_NAME',
        'AUTH_TOKEN',
        'GITHUB_TOKEN',
      ],
      ...[
        'QUEUE_URL',
        'QUEUE_NAME',
        'FEED_URL',
        'DATA_DIR',
        'ON_CALL',
        'ENVIRONMENT',
        'INVOCATION_ID',
      ],
    ];
    expect(parse(Object.fromEntries(names.map((name) => [name, 'x']))).warnings).toEqual([]);
  });

  test('certificates are always checked', () => {
    expect(mistake({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toContain('NODE_EXTRA_CA_CERTS');
  });

  test('any environment gives settings or one described error', () => {
    const names = [
      'WALLET_PARAM_NAMES',
      'ADDRESS_POOLS',
      'HTTP_HOST',
      'DATABASE_URL',
      'WALLET_BASE_URL',
    ];
    const drawn = forAllSync(fc.constantFrom(...names), fc.string({ unit: 'binary' }));
    drawn(100, (name, text) => {
      // A secret that is a piece of the name takes that piece out of the message, too.
      fc.pre(text === '' || !name.includes(text));
      try {
        parse({ [name]: text });
      } catch (error) {
        expect(error).toBeInstanceOf(LedgerError);
        expect((error as Error).message).toContain('_');
      }
    });
  });
});
