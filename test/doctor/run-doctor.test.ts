import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { startListingService } from '../support/listing-service.ts';
import { startPostgres } from '../support/start-postgres.ts';
import { withLedger } from '../support/with-ledger.ts';
import { examine, withSandboxOf } from './examine.ts';

const { ledger, connectionString } = await withLedger();
const withDatabase = { openLedger: async () => ledger };

describe('a healthy installation', () => {
  test('has no bad line, and says what it saw', async () => {
    const sandbox = await withSandboxOf();
    const { findings, find } = await examine(sandbox, {}, withDatabase);
    expect(findings.filter(({ verdict }) => verdict === 'bad')).toEqual([]);
    // The tests' server is set for speed.
    expect(find('database-durability')).toMatchObject({
      verdict: 'warning',
      seen: expect.stringContaining('fsync'),
      cure: expect.stringContaining('set fsync=on: a power failure may damage the database'),
    });
    const good = findings
      .filter(({ name, verdict }) => verdict === 'good' && name !== 'database-durability')
      .map(({ name }) => name);
    expect(good).toEqual([
      'settings',
      'database',
      'database-version',
      'database-rights',
      'database-connections',
      'migrations',
      'database-clock',
      'home',
      'pools',
      'wallet',
      'dns',
      'connection',
      'signature',
      'clock',
      'param-page',
      'param-size',
      'param-type',
      'list-order-deposit',
      'list-order-withdraw',
      'page-size',
      'total-size',
      'amounts',
      'states',
    ]);
    expect(find('page-size').seen).toContain('pages of 100 rows are sent; 200 is cut to 100');
    expect(find('states').seen).toContain('final: ');
    expect(find('coin-states').seen).toContain('LTC on 2 withdraw 0 (most: 1)');
    expect(sandbox.stats.noncesReused).toBe(0);
  });

  test.each(['refuse', 'last-page'] as const)(
    'has no bad line for a short or empty list, or one that fills its pages, if its service lets pages behind the end %s',
    async (beyondEnd) => {
      const lists = [{ transactions: 0 }, { transactions: 8 }, { transactions: 8, pageSizeMax: 1 }];
      for (const list of lists) {
        const sandbox = await withSandboxOf({ ...list, beyondEnd });
        const { findings } = await examine(sandbox);
        const bad = findings.filter(({ verdict }) => verdict === 'bad');
        expect(bad.map(({ name }) => name)).toEqual(['database']);
      }
    },
  );

  test('may write the types of its rows in capital letters', async () => {
    const sandbox = await withSandboxOf();
    const row = { orderNo: 'o-1', type: 'DEPOSIT', amount: '1', state: 'success', time: 1.7e12 };
    const data = { pageNo: 1, pageSize: 10, totalSize: 1, list: [row] };
    const text = JSON.stringify({ code: 0, data, msg: '' });
    sandbox.answers.set('/v1/transaction/list', { status: 200, text });
    const { find } = await examine(sandbox);
    // The answer is that of both lists.
    expect(find('param-type').seen).toContain('type=withdraw the service sent a DEPOSIT');
  });

  test('without transactions does not show that the type parameter is honoured', async () => {
    const { find } = await examine(await withSandboxOf({ transactions: 0 }));
    expect(find('param-type')).toMatchObject({
      verdict: 'warning',
      seen: 'too few transactions for this check',
    });
  });

  test('that has deposits alone shows the type parameter honoured by the empty list', async () => {
    const sandbox = await withSandboxOf({ transactions: 0 });
    sandbox.world.addTransactions(3, { type: 'deposit' });
    const { find } = await examine(sandbox);
    expect(find('param-type')).toMatchObject({
      verdict: 'good',
      seen: "type is honoured: with type=withdraw the service sent none of the other list's rows",
    });
  });

  test('is bad if rows without a type are the same in both lists', async () => {
    const sandbox = await withSandboxOf();
    const row = { orderNo: 'o-1', amount: '1', state: 'success', time: 1.7e12 };
    const data = { pageNo: 1, pageSize: 10, totalSize: 1, list: [row] };
    const text = JSON.stringify({ code: 0, data, msg: '' });
    sandbox.answers.set('/v1/transaction/list', { status: 200, text });
    const { find } = await examine(sandbox);
    expect(find('param-type')).toMatchObject({
      verdict: 'bad',
      seen: 'with each type the service sent the same rows',
    });
  });

  test('is asked in moderation', async () => {
    const sandbox = await withSandboxOf();
    await examine(sandbox);
    const { requests } = sandbox.stats;
    expect(requests['/v1/transaction/list']).toBeLessThan(20);
    expect(requests['/v1/wallet/coin']).toBe(2);
    expect(requests['/v1/wallet/address']).toBe(0);
  });

  test('is found healthy through passing faults, too', async () => {
    const sandbox = await withSandboxOf();
    sandbox.faults.next.push('error-code', 'html');
    const { findings } = await examine(sandbox, {}, withDatabase);
    expect(findings.filter(({ verdict }) => verdict === 'bad')).toEqual([]);
  });
});

test('it says which addresses are kept ready, and that none are', async () => {
  const sandbox = await withSandboxOf();
  const without = await examine(sandbox);
  expect(without.find('pools')).toMatchObject({
    verdict: 'good',
    seen: expect.stringContaining('ADDRESS_POOLS names no pool: the address list is not read'),
  });
  const pools = await examine(sandbox, { ADDRESS_POOLS: '60:5:10,195:3:6' });
  expect(pools.find('pools').seen).toBe(
    'addresses kept ready: 5 to 10 of chain 60, 3 to 6 of chain 195',
  );
  const mistaken = await examine(sandbox, { ADDRESS_POOLS: '60:10:5' });
  expect(mistaken.find('settings')).toMatchObject({ verdict: 'bad' });
  expect(mistaken.find('pools').seen).toBe('skipped: the setting is not valid');
});

describe('what is wrong is named', () => {
  test('a wrong secret', async () => {
    const sandbox = await withSandboxOf();
    const { find, findings } = await examine(sandbox, {
      WALLET_API_SECRET: 'quite-another-secret',
    });
    expect(find('signature')).toMatchObject({ verdict: 'bad' });
    expect(find('signature').seen).toContain('wrong signature');
    expect(find('signature').cure).toContain('WALLET_API_SECRET');
    expect(find('lists').seen).toContain('skipped');
    expect(JSON.stringify(findings)).not.toContain('quite-another-secret');
  });

  test('an address that ends in the /v1 that the program adds', async () => {
    const sandbox = await withSandboxOf();
    const { find } = await examine(sandbox, { WALLET_BASE_URL: `${sandbox.baseUrl}/v1` });
    expect(find('wallet-address')).toMatchObject({
      verdict: 'bad',
      cure: `set WALLET_BASE_URL=${sandbox.baseUrl}`,
    });
    // No other signature finds a path that does not exist.
    expect(find('signature')).toMatchObject({
      seen: expect.stringContaining('HTTP 404'),
      cure: expect.stringContaining('WALLET_BASE_URL'),
    });
    const right = await examine(sandbox);
    expect(right.findings.map(({ name }) => name)).not.toContain('wallet-address');
  });

  test('a key that is not the secret’s own', async () => {
    const sandbox = await withSandboxOf({ signer: 'params-secp256k1' });
    const { find } = await examine(sandbox, { WALLET_API_SECRET: 'ab'.repeat(32) });
    expect(find('signature').seen).toContain('WALLET_API_KEY is not the public key');
  });

  test('pages that are numbered from 0', async () => {
    const service = await startListingService();
    onTestFinished(() => service.close());
    const rowAt = (nth: number) => JSON.stringify({ orderNo: `o-${nth}`, type: 'deposit' });
    service.lists.set(
      'deposit',
      Array.from({ length: 60 }, (_, nth) => rowAt(nth)),
    );
    const shifted = async (by: number) => {
      service.twist = (page, { list, pageNo, pageSize }) => {
        const shown = Math.max(0, pageNo - by);
        const rows = (service.lists.get(list) ?? []).slice(
          shown * pageSize,
          (shown + 1) * pageSize,
        );
        return { ...page, rows };
      };
      const env = { WALLET_BASE_URL: service.baseUrl };
      return (await examine(await withSandboxOf(), env)).find('param-page');
    };
    expect(await shifted(0)).toMatchObject({
      verdict: 'bad',
      seen: 'pageNo=0 shows rows that come before those of pageNo=1',
    });
    expect(await shifted(1)).toMatchObject({ verdict: 'good' });
  });

  test.each([
    ['page', 'param-page', 'p'],
    ['size', 'param-size', 'rows'],
    ['type', 'param-type', 'kind'],
  ])('a wrong name of the parameter %s', async (meaning, name, own) => {
    const usual = { page: 'pageNo', size: 'pageSize', chain: 'slip44', type: 'type' };
    const sandbox = await withSandboxOf({ paramNames: { ...usual, [meaning]: own } });
    const { find, findings } = await examine(sandbox, { WALLET_PARAM_NAMES: 'page=pageNo' });
    expect(find(name).verdict).toBe('bad');
    expect(find(name).cure).toContain('WALLET_PARAM_NAMES');
    const isParam = (other: string) => other.startsWith('param-') && other !== name;
    expect(findings.filter((one) => isParam(one.name)).map(({ verdict }) => verdict)).toEqual([
      'good',
      'good',
    ]);
  });

  test.each([
    ['heeds it', { addressesPerChain: 3 }, 'good', 'slip44 is honoured'],
    ['ignores it', { filtersAddresses: false }, 'bad', 'lists the same addresses'],
    [
      'does not take it',
      { paramNames: { page: 'pageNo', size: 'pageSize', chain: 'coin', type: 'type' } },
      'bad',
      'refuses to list addresses',
    ],
  ] as const)(
    'a service that %s: the name of the chain parameter',
    async (_what, options, verdict, seen) => {
      const sandbox = await withSandboxOf(options);
      const { find } = await examine(
        sandbox,
        { ADDRESS_POOLS: '60:5:10,195:5:10', WALLET_PARAM_NAMES: 'page=pageNo' },
        withDatabase,
      );
      expect(find('param-chain')).toMatchObject({ verdict, seen: expect.stringContaining(seen) });
      if (verdict === 'bad')
        expect(find('param-chain').cure).toContain('WALLET_PARAM_NAMES chain=');
      expect(sandbox.stats.requests['/v1/wallet/address']).toBe(0);
    },
  );

  test.each(['clamp', 'refuse'] as const)(
    'a page size that the service does not take (%s)',
    async (rule) => {
      const sandbox = await withSandboxOf({ pageSizeMax: 50, pageSizeRule: rule });
      const { find } = await examine(sandbox);
      expect(find('page-size')).toMatchObject({
        verdict: 'warning',
        cure: 'set WALLET_PAGE_SIZE=50',
      });
      expect(find('page-size').seen).toContain(
        rule === 'clamp' ? '100 is cut to 50' : '100 is refused',
      );
    },
  );

  test.each([
    [30_000, 'warning', '30 s behind'],
    [-90_000, 'bad', '90 s ahead of'],
  ])('a clock that differs by %d ms', async (ms, verdict, seen) => {
    const sandbox = await withSandboxOf();
    const date = new Date(Date.now() + ms).toUTCString();
    const text = '{"code":0,"data":[],"msg":""}';
    sandbox.answers.set('/v1/wallet/coin', { status: 200, text, headers: { date } });
    const { find } = await examine(sandbox);
    expect(find('clock').verdict).toBe(verdict);
    expect(find('clock').seen).toMatch(
      new RegExp(seen.replace(/\d+/, (n) => `(${Number(n) - 1}|${n}|${Number(n) + 1})`)),
    );
  });

  test.each([
    ['Thu, 01 Jan 1970 00:00:00 GMT', 200, 'warning', 'no request depends on it'],
    ['Thu, 01 Jan 2099 00:00:00 GMT', 200, 'warning', 'no request depends on it'],
    ['yesterday', 200, 'warning', 'no request depends on it'],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 401, 'bad', 'the operator of the service'],
  ])(
    "a service's clock of %s, where machine and database agree, and HTTP %d",
    async (date, status, verdict, cure) => {
      const sandbox = await withSandboxOf();
      const text = `{"code":${status === 200 ? 0 : status},"data":[],"msg":""}`;
      sandbox.answers.set('/v1/wallet/coin', { status, text, headers: { date } });
      const { find } = await examine(sandbox, {}, withDatabase);
      expect(find('clock')).toMatchObject({ verdict, cure: expect.stringContaining(cure) });
      expect(find('clock').seen).toContain(
        `the service's Date header is implausible: “${date}” is `,
      );
    },
  );

  test('a list order that is not the one of the settings', async () => {
    const sandbox = await withSandboxOf({ listOrder: 'oldest-first' });
    const { find } = await examine(sandbox, { WALLET_LIST_ORDER: 'newest-first' });
    expect(find('list-order-deposit')).toMatchObject({ verdict: 'bad' });
    expect(find('list-order-deposit').cure).toContain('oldest-first');
  });

  test('times in seconds, by which no row can be ordered', async () => {
    const sandbox = await withSandboxOf();
    const list = Array.from({ length: 10 }, (_, nth) => ({
      orderNo: `order-${nth}`,
      amount: '1',
      type: 'deposit',
      state: 'success',
      time: 1_700_000_000 - nth,
    }));
    const data = { list, pageNo: 1, pageSize: 20, totalSize: 10 };
    const text = JSON.stringify({ code: 0, msg: '', data });
    sandbox.answers.set('/v1/transaction/list', { status: 200, text });
    const { find } = await examine(sandbox);
    expect(find('list-order-deposit')).toMatchObject({
      verdict: 'warning',
      seen: expect.stringContaining('the times of 10 of 10 rows look like seconds'),
    });
  });

  test('a total that leaves rows out', async () => {
    const { find } = await examine(await withSandboxOf({ totalLag: 3 }));
    expect(find('total-size').verdict).toBe('warning');
  });

  test('states that the settings do not take as final', async () => {
    const sandbox = await withSandboxOf();
    const { find } = await examine(sandbox, {
      WALLET_FINAL_STATES: 'landed',
      WALLET_SUCCESS_STATES: 'landed',
    });
    expect(find('states').verdict).toBe('warning');
    expect(find('states').cure).toContain('success');
  });

  test('a service that is not there, or has no name', async () => {
    const sandbox = await withSandboxOf();
    const away = await examine(sandbox, { WALLET_BASE_URL: 'http://127.0.0.1:9/api' });
    expect(away.find('connection').verdict).toBe('bad');
    const nameless = await examine(sandbox, { WALLET_BASE_URL: 'https://wallet.invalid/api' });
    expect(nameless.find('dns').verdict).toBe('bad');
    expect(nameless.find('lists').seen).toContain('skipped');
  });

  test('all mistakes in the settings, while what they do not touch is checked', async () => {
    const sandbox = await withSandboxOf();
    const { findings, find } = await examine(sandbox, {
      HTTP_PORT: 'eighty',
      WALLET_CONCURRENCY: 'many',
      WALLET_MAX_RPM: '3',
    });
    const named = findings.filter(({ name }) => name === 'settings').map(({ seen }) => seen);
    expect(named).toHaveLength(3);
    expect(named.join()).toMatch(/WALLET_CONCURRENCY.*HTTP_PORT.*WALLET_MAX_RPM/);
    expect(find('signature').verdict).toBe('good');
    const mistaken = await examine(sandbox, { WALLET_SIGNER: 'ours' });
    expect(mistaken.find('service').seen).toContain('skipped');
  });

  test('a database without the schema, while the service is checked', async () => {
    const database = await startPostgres();
    onTestFinished(() => database.close());
    const empty = connectLedger({ ...database, poolSize: 2, log: silentLog });
    onTestFinished(() => empty.close());
    const { find } = await examine(await withSandboxOf(), {}, { openLedger: async () => empty });
    expect(find('migrations')).toMatchObject({ verdict: 'warning' });
    expect(find('migrations').cure).toContain('wallet-ledger migrate');
    expect(find('signature').verdict).toBe('good');
  });

  test('a database that cannot hold the texts of a service', async () => {
    const url = new URL(connectionString);
    const database = `${url.pathname.slice(1)}_latin1`;
    await ledger.pool.query(
      `create database ${database} encoding 'LATIN1' locale_provider libc locale 'C' template template0`,
    );
    onTestFinished(async () => {
      await ledger.pool.query(`drop database ${database} with (force)`);
    });
    url.pathname = `/${database}`;
    const other = connectLedger({ connectionString: url.href, poolSize: 2, log: silentLog });
    onTestFinished(() => other.close());
    const { find } = await examine(await withSandboxOf(), {}, { openLedger: async () => other });
    expect(find('database-texts')).toMatchObject({
      verdict: 'bad',
      seen: 'the database has the encoding LATIN1, which lacks characters',
      cure: expect.stringContaining("encoding 'UTF8'"),
    });
  });

  test('a database whose indexes are in the order of another version of its collation', async () => {
    const recorded = (version: string) =>
      ledger.pool.query(
        `update pg_database set datcollversion = ${version} where datname = current_database()`,
      );
    await recorded("'2.28'");
    onTestFinished(async () => {
      await recorded('null');
    });
    const { find } = await examine(await withSandboxOf(), {}, { openLedger: async () => ledger });
    expect(find('database-order')).toMatchObject({
      verdict: 'bad',
      seen: expect.stringContaining('built by version 2.28'),
      cure: expect.stringMatching(/restore a dump|reindex database/),
    });
  });

  test('a database that is down, while the service is checked', async () => {
    const { find } = await examine(await withSandboxOf());
    expect(find('database')).toMatchObject({ verdict: 'bad', seen: 'nothing listens there' });
    expect(find('param-page').verdict).toBe('good');
  });

  test('a role that may not write, while the service is checked', async () => {
    const { rows } = await ledger.pool.query<{ name: string }>('select current_database() as name');
    const role = `${rows[0]?.name}_reader`;
    await ledger.pool.query(`create role ${role} login password 'reader'`);
    onTestFinished(async () => {
      await ledger.pool.query(`drop owned by ${role}; drop role ${role}`);
    });
    await ledger.pool.query(
      `grant usage on schema ledger, drizzle to ${role};
       grant select on all tables in schema ledger, drizzle to ${role};
       grant connect on database ${rows[0]?.name} to ${role}`,
    );
    const url = new URL(connectionString);
    url.username = role;
    url.password = 'reader';
    const reader = connectLedger({ connectionString: url.href, poolSize: 2, log: silentLog });
    onTestFinished(() => reader.close());
    const { find } = await examine(await withSandboxOf(), {}, { openLedger: async () => reader });
    expect(find('database-rights').verdict).toBe('bad');
    expect(find('database-rights').seen).toContain('transactions');
    expect(find('signature').verdict).toBe('good');
  });

  test('coins that changed since they were stored', async () => {
    const sandbox = await withSandboxOf();
    await ledger.pool.query(
      `insert into ledger.coins (slip44, symbol, contract_address, deposit_state, withdraw_state, observed_at, changed_at, observation)
       values (0, 'BTC', '', 7, 1, now(), now(), 1)`,
    );
    const { find } = await examine(sandbox, {}, withDatabase);
    expect(find('coin-states').seen).toContain('changed since stored: BTC on 0 deposit 7 to 1');
  });
});

describe('--try-variants', () => {
  test.each([
    ['params-secp256k1', 'sha256', 'der-hex'],
    ['params-secp256k1', 'sha256', 'raw-hex'],
    ['params-secp256k1', 'sha256d', 'der-base64'],
    ['body-ed25519', 'sha256', 'raw-base64'],
    ['params-hmac', 'sha256', 'raw-base64'],
  ] as const)('finds what %s takes: %s, %s', async (signer, signHash, signEncoding) => {
    const sandbox = await withSandboxOf({ signer, signHash, signEncoding });
    const unset = { WALLET_SIGN_HASH: '', WALLET_SIGN_ENCODING: '' };
    const { find } = await examine(sandbox, unset, { isTryingVariants: true });
    expect(find('signature').verdict).toBe('bad');
    expect(find('signing-variants').cure).toBe(
      `set WALLET_SIGN_HASH=${signHash} and WALLET_SIGN_ENCODING=${signEncoding}`,
    );
    expect(sandbox.stats.signatureFailures).toBeLessThanOrEqual(9);
    expect(find('param-page').verdict).toBe('good');
  });

  test.each([
    ['body-secp256k1', 'params-secp256k1'],
    ['params-hmac', 'body-hmac'],
  ] as const)('finds that a service wants %s where the settings say %s', async (signer, told) => {
    const sandbox = await withSandboxOf({ signer });
    const isHmac = signer === 'params-hmac';
    const env = { WALLET_SIGNER: told, ...(isHmac ? {} : { WALLET_API_KEY: '' }) };
    const { find } = await examine(sandbox, env, { isTryingVariants: true });
    expect(find('signing-variants').cure).toBe(
      `set WALLET_SIGNER=${signer}, without hash and encoding`,
    );
    expect(find('param-page').verdict).toBe('good');
  });

  test.each([
    ['params-secp256k1', 'sha256', 'raw-base64', 'params-secp256k1'],
    ['body-secp256k1', 'sha256', 'raw-hex', 'params-secp256k1'],
    ['body-ed25519', 'sha256', 'raw-base64', 'params-secp256k1'],
    ['body-hmac', 'sha256', 'raw-base64', 'params-hmac'],
  ] as const)(
    'finds %s with %s and %s where the settings say %s',
    async (signer, signHash, signEncoding, told) => {
      const isHmac = signer.endsWith('hmac');
      const bare = isHmac ? {} : { apiSecret: 'cd'.repeat(32) };
      const sandbox = await withSandboxOf({ signer, signHash, signEncoding, ...bare });
      const unset = { WALLET_SIGN_HASH: '', WALLET_SIGN_ENCODING: '' };
      const env = { ...unset, WALLET_SIGNER: told, ...(isHmac ? {} : { WALLET_API_KEY: '' }) };
      const announced: number[] = [];
      const { find } = await examine(sandbox, env, {
        isTryingVariants: true,
        onTrying: (requests) => announced.push(requests),
      });
      const recipe = signer === told ? '' : `WALLET_SIGNER=${signer}, `;
      expect(find('signing-variants').cure).toBe(
        `set ${recipe}WALLET_SIGN_HASH=${signHash} and WALLET_SIGN_ENCODING=${signEncoding}`,
      );
      expect(find('param-page').verdict).toBe('good');
      expect(announced).toEqual([isHmac ? 7 : 27]);
      expect(sandbox.stats.signatureFailures).toBeLessThanOrEqual(announced[0] ?? 0);
    },
  );

  test('gives up after every way that fits the key, and says how many there were', async () => {
    const sandbox = await withSandboxOf({ signer: 'params-secp256k1', apiSecret: 'cd'.repeat(32) });
    const { find } = await examine(
      sandbox,
      { WALLET_API_SECRET: 'ab'.repeat(32), WALLET_API_KEY: '' },
      { isTryingVariants: true },
    );
    expect(find('signing-variants').verdict).toBe('bad');
    expect(find('signing-variants').seen).toContain('all 27 other ways');
    for (const recipe of ['params-secp256k1', 'body-secp256k1', 'body-ed25519', 'concat-ecdsa'])
      expect(find('signing-variants').seen).toContain(recipe);
    expect(sandbox.stats.signatureFailures).toBe(28);
  });
});

describe('several wallets', () => {
  const names = ['eu', 'us'];

  test('each is checked in turn under its name, what they share once', async () => {
    const sandbox = await withSandboxOf({ wallets: names, transactions: 50 });
    const { findings, find } = await examine(sandbox, {}, withDatabase);
    expect(findings.filter(({ verdict }) => verdict === 'bad')).toEqual([]);
    for (const name of names)
      for (const check of ['wallet', 'connection', 'signature', 'total-size'])
        expect([name, find(`${name}: ${check}`).verdict]).toEqual([name, 'good']);
    expect(findings.filter(({ name }) => name === 'database-version')).toHaveLength(1);
    expect(findings.filter(({ name }) => name === 'home')).toHaveLength(1);
    const places = names.map((name) => findings.findIndex((each) => each.name.startsWith(name)));
    expect(places[0]).toBeLessThan(places[1] ?? 0);
  });

  test('only the named one is checked', async () => {
    const sandbox = await withSandboxOf({ wallets: names, transactions: 50 });
    const { findings } = await examine(sandbox, {}, { wallets: ['us'] });
    const checked = findings.flatMap(({ name }) => (name.includes(': ') ? [name.slice(0, 2)] : []));
    expect(new Set(checked)).toEqual(new Set(['us']));
  });

  test('a mistake in the settings of one leaves out its service, and no other', async () => {
    const sandbox = await withSandboxOf({ wallets: names, transactions: 50 });
    const { find } = await examine(sandbox, { EU__WALLET_NONCE_UNIT: 'hours' });
    expect(find('settings').seen).toContain('EU__WALLET_NONCE_UNIT');
    expect(find('eu: service').seen).toContain('skipped');
    expect(find('us: signature').verdict).toBe('good');
  });
});
