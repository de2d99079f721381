import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import {
  completeNames,
  type Discovery,
  discoverService,
  withoutVersion,
} from '../../src/doctor/discover/discover-service.ts';
import { unusedChain } from '../../src/kernel/chain-filter.ts';
import { type SandboxOptions, withDefaults } from '../../src/sandbox/sandbox-options.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { parseSigningKey } from '../../src/service/signing/signing-key.ts';
import { listen } from '../support/listen.ts';

async function open(options: Partial<SandboxOptions>): Promise<Sandbox> {
  const sandbox = await startSandbox({ transactions: 300, settleMs: 0, ...options });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** Told nothing but the address, the secret and, if it cannot be derived or is asked for, the key. */
function discover(
  sandbox: Sandbox,
  { baseUrl = sandbox.baseUrl, isKeyTold = false } = {},
): Promise<Discovery> {
  const { apiSecret, apiKey, signer } = sandbox.credentials;
  const isNeeded = isKeyTold || signer.endsWith('hmac');
  const credentials = { apiSecret, apiKey: isNeeded ? apiKey : null };
  const given = { baseUrl, credentials, timeoutMs: 15_000 };
  return discoverService(given, { clock: Date.now, signal: new AbortController().signal });
}

const usual = withDefaults({}).paramNames;
const others = { page: 'page', size: 'limit', chain: 'chainId', type: 'direction' };

test.each<[string, Partial<SandboxOptions>]>([
  ['the usual names', {}],
  ['other names', { paramNames: others }],
  [
    'names that are last of those known',
    { paramNames: { page: 'current_page', size: 'num', chain: 'slip_44', type: 'orderType' } },
  ],
  [
    'names of a page index and a page length',
    { paramNames: { page: 'page_index', size: 'page_length', chain: 'chain', type: 'type' } },
  ],
  [
    'short names of the page and of its size',
    { paramNames: { page: 'p', size: 'per_page', chain: 'chain', type: 'type' } },
  ],
  ['another recipe and other names', { signer: 'body-ed25519', paramNames: others }],
  ['a recipe of the same key', { signer: 'body-secp256k1' }],
  ['another curve', { signer: 'concat-ecdsa' }],
  ['a shared secret', { signer: 'params-hmac', paramNames: others }],
  ['a shared secret of another recipe', { signer: 'body-hmac' }],
  ['another hash', { signHash: 'sha256' }],
  ['another encoding', { signEncoding: 'raw-base64' }],
  ['another hash and another encoding', { signHash: 'sha256', signEncoding: 'raw-base64' }],
  [
    'another hash and another encoding of another recipe',
    { signer: 'body-secp256k1', signHash: 'sha256', signEncoding: 'raw-base64' },
  ],
])('%s are found out with at most 40 requests', async (_what, options) => {
  const sandbox = await open(options);
  const isKeyTold = options.signEncoding !== undefined && options.signHash === undefined;
  const found = await discover(sandbox, { isKeyTold });
  expect(found.way.recipe).toBe(options.signer ?? 'params-secp256k1');
  expect([found.way.hash, found.way.encoding].filter(Boolean)).toEqual(
    expect.arrayContaining([options.signHash, options.signEncoding].filter(Boolean) as string[]),
  );
  expect(found.names).toEqual(options.paramNames ?? usual);
  // The last ways to sign leave no request for it.
  if (found.requests < 40) expect(found.pageSize).toBe(100);
  expect(found.states.length).toBeGreaterThan(0);
  expect(found.requests).toBeLessThanOrEqual(40);
});

test.each([
  [25, 'clamp', 25],
  [500, 'clamp', 500],
  [20, 'refuse', 20],
  [200, 'refuse', 200],
] as const)(
  'a page size of %i at the most, which others are %s to, is found',
  async (pageSizeMax, pageSizeRule, pageSize) => {
    const sandbox = await open({ pageSizeMax, pageSizeRule, transactions: 1_200 });
    expect((await discover(sandbox)).pageSize).toBe(pageSize);
  },
);

test.each(['size', 'num'])(
  'the name %s of the size is found where 10 rows are the most',
  async (size) => {
    const paramNames = { ...usual, size };
    const found = await discover(await open({ paramNames, pageSizeMax: 10 }));
    expect([found.names, found.pageSize]).toEqual([paramNames, 10]);
    expect(found.requests).toBeLessThanOrEqual(40);
  },
);

test.each([
  ['ignores', true],
  ['refuses', false],
])(
  'a service that %s each usual name of the page is told from one that shows nothing',
  async (_does, isLax) => {
    const paramNames = { ...usual, page: 'blatt' };
    const sandbox = await open({ paramNames });
    const baseUrl = isLax ? sandbox.baseUrl : await openStrictFront(sandbox);
    const found = await discover(sandbox, { baseUrl });
    expect([found.names, found.isPageWrong]).toEqual([{ ...usual, page: null }, true]);
    expect(found.requests).toBeLessThanOrEqual(40);
  },
);

test.each([
  ['rows of two pages', 300, 'current', false],
  ['no rows', 0, null, false],
] as const)(
  'without page numbers in the answers, the name follows from %s',
  async (_what, transactions, page, isWrong) => {
    const sandbox = await open({ transactions, paramNames: { ...usual, page: 'current' } });
    const baseUrl = await openProxy(sandbox, async (_url, pass) => {
      const { status, text } = await pass();
      return { status, text: text.replace(/"pageNo":\d+,/, '') };
    });
    const found = await discover(sandbox, { baseUrl });
    expect([found.names.page, found.isPageWrong]).toEqual([page, isWrong]);
  },
);

test('an empty wallet shows what it can; the rest is not known', async () => {
  const sandbox = await open({ transactions: 0, addressesPerChain: 0, paramNames: others });
  const found = await discover(sandbox);
  expect(found.names).toEqual({ ...others, type: null });
  expect(completeNames(found.names, usual)).toEqual({ ...others, type: 'type' });
  expect(found.states).toEqual([]);
});

test('an address that ends in /v1 is the one before it', async () => {
  const sandbox = await open({});
  expect((await discover(sandbox, { baseUrl: `${sandbox.baseUrl}/v1/` })).baseUrl).toBe(
    sandbox.baseUrl,
  );
  expect(withoutVersion('https://host/v1')).toBe('https://host');
  expect(withoutVersion('https://host/api/v12/')).toBe('https://host/api/v12');
});

test('a wrong secret is refused after at most 40 requests, and no address is generated', async () => {
  const sandbox = await open({ signer: 'params-hmac' });
  const wrong = { ...sandbox, credentials: { ...sandbox.credentials, apiSecret: '11'.repeat(32) } };
  const failure = await discover(wrong).catch((error) => error);
  expect([failure.code, failure.exitCode]).toEqual(['service-authentication', 4]);
  expect(sandbox.stats.signatureFailures).toBeGreaterThan(2);
  expect(sandbox.stats.signatureFailures).toBeLessThan(40);
});

test('a damaged PEM beside an API key is refused before a request is sent', async () => {
  const sandbox = await open({ signer: 'params-hmac' });
  const apiSecret = '-----BEGIN PRIVATE KEY-----\nMC4CAQAw\n-----END PRIVATE KEY-----';
  const broken = { ...sandbox, credentials: { ...sandbox.credentials, apiSecret } };
  const failure = await discover(broken, { isKeyTold: true }).catch((error) => error);
  expect(failure).toMatchObject({
    code: 'settings',
    message: expect.stringMatching(/the secret \(WALLET_API_SECRET\): it looks like PEM/),
  });
  expect(sandbox.stats.signatureFailures).toBe(0);
});

test('what 40 requests do not suffice for is named, with the command that tries it', async () => {
  const sandbox = await open({ signer: 'params-secp256k1' });
  const apiKey = `02${'ab'.repeat(32)}`;
  // A shared secret that looks like a private key, together with the public key of that.
  const { publicKey } = parseSigningKey('11'.repeat(32), ['secp256k1'], 'secp256k1');
  for (const [key, untried] of [
    [publicKey.spki, 4],
    [apiKey, 0],
  ] as const) {
    const credentials = { ...sandbox.credentials, apiSecret: '11'.repeat(32), apiKey: key };
    const failure = await discover({ ...sandbox, credentials }, { isKeyTold: true }).catch(
      (error) => error,
    );
    expect([failure.code, failure.exitCode]).toEqual(['service-authentication', 4]);
    expect(failure.message.includes('not tried: ')).toBe(untried > 0);
    if (untried > 0) {
      expect(failure.message.split('not tried: ')[1].split(', ')).toHaveLength(untried);
      expect(failure.cure).toContain('wallet-ledger doctor --try-variants');
    }
  }
  expect(sandbox.stats.signatureFailures).toBeLessThanOrEqual(28 + 8);
});

test('credentials that fit no recipe are a mistake of the settings, and nothing but the first request is sent', async () => {
  const sandbox = await open({});
  const wrong = { ...sandbox, credentials: { ...sandbox.credentials, apiSecret: 'no key' } };
  expect(await discover(wrong).catch((error) => error)).toMatchObject({
    code: 'settings',
    exitCode: 2,
  });
  expect(sandbox.stats.signatureFailures).toBe(0);
});

/** A front of the sandbox that refuses requests with a parameter it does not know. */
async function openStrictFront(sandbox: Sandbox): Promise<string> {
  const known = new Set(Object.values(sandbox.options.paramNames));
  return await openFront(sandbox, 400, (query) =>
    [...query.keys()].some((name) => !known.has(name)),
  );
}

/** A front of the sandbox that refuses some requests with this status. */
async function openFront(
  sandbox: Sandbox,
  status: number,
  isRefused: (query: URLSearchParams) => boolean,
): Promise<string> {
  const refusal = JSON.stringify({ code: 10001, data: null, msg: 'refused' });
  return await openProxy(sandbox, async ({ searchParams }, pass) =>
    isRefused(searchParams) ? { status, text: refusal } : await pass(),
  );
}

type Answer = { status: number; text: string };

async function openProxy(
  sandbox: Sandbox,
  answerTo: (url: URL, pass: () => Promise<Answer>) => Promise<Answer>,
): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', sandbox.baseUrl);
    const headers = Object.entries(request.headers).filter(([name]) => name.startsWith('biz-'));
    const pass = async () => {
      const answer = await fetch(url, { headers: headers as [string, string][] });
      return { status: answer.status, text: await answer.text() };
    };
    void answerTo(url, pass).then(({ status, text }) => response.writeHead(status).end(text));
  });
  const port = await listen(server);
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${port}/api`;
}

test.each<[string, SandboxOptions['paramNames'], number]>([
  ['others', others, 3],
  ['rarer ones', { page: 'current', size: 'perPage', chain: 'network', type: 'tradeType' }, 3],
  ['others, before the first address', others, 0],
])(
  'a service that refuses unknown parameters is asked with one at a time: %s',
  async (_what, paramNames, addressesPerChain) => {
    const sandbox = await open({ paramNames, addressesPerChain });
    const baseUrl = await openStrictFront(sandbox);
    const found = await discover(sandbox, { baseUrl, isKeyTold: true });
    expect(found.names).toEqual(paramNames);
    expect(found.requests).toBeLessThanOrEqual(40);
  },
);

test('a service that answers an unknown chain with HTTP 500 has shown the name of the parameter', async () => {
  const sandbox = await open({ paramNames: others });
  const baseUrl = await openFront(
    sandbox,
    500,
    (query) => query.get(others.chain) === String(unusedChain),
  );
  expect((await discover(sandbox, { baseUrl, isKeyTold: true })).names).toEqual(others);
});

test.each([
  [500, '{"code":500,"msg":"internal error"}'],
  [502, '<html>bad gateway</html>'],
  [400, '<html>bad request</html>'],
])(
  'a service that answers a wrong signature with HTTP %i is asked with the next one: %s',
  async (status, text) => {
    const sandbox = await open({ signHash: 'sha256', signEncoding: 'raw-base64' });
    let requests = 0;
    const baseUrl = await openProxy(sandbox, async (_url, pass) => {
      requests += 1;
      const answer = await pass();
      return answer.status === 401 ? { status, text } : answer;
    });
    const found = await discover(sandbox, { baseUrl });
    expect(found.way).toMatchObject({ hash: 'sha256', encoding: 'raw-base64' });
    expect(found.names.page).toBe('pageNo');
    expect(found.requests).toBe(requests);
    expect(requests).toBeLessThanOrEqual(40);

    requests = 0;
    const wrong = {
      ...sandbox,
      credentials: { ...sandbox.credentials, apiSecret: '11'.repeat(32) },
    };
    const failure = await discover(wrong, { baseUrl }).catch((error) => error);
    expect(failure.exitCode).toBe(4);
    expect(failure.message).toMatch(
      new RegExp(
        `^the service (refuses|fails on) \\d+ ways to sign; the last answer: HTTP ${status} `,
      ),
    );
    expect(failure.cure).toContain('secret and key');
    expect(requests).toBeLessThanOrEqual(40);
  },
);

test('the chain is named by what the service requires, before it lists an address', async () => {
  const sandbox = await open({ paramNames: others, addressesPerChain: 0 });
  expect((await discover(sandbox)).names).toEqual(others);
});

test('a service that answers everything with nonsense is left after few requests', async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.end('<html>not the service</html>');
  });
  const port = await listen(server);
  onTestFinished(() => void server.close());
  const sandbox = await open({});
  const failure = await discover(sandbox, { baseUrl: `http://127.0.0.1:${port}` }).catch(
    (error) => error,
  );
  expect([failure.code, failure.exitCode]).toEqual(['service-malformed', 4]);
  expect(requests).toBeLessThan(10);
});

test('an address without the path of the service is named with one request', async () => {
  const sandbox = await open({});
  const found = discover(sandbox, { baseUrl: `${sandbox.baseUrl}/other` });
  await expect(found).rejects.toMatchObject({
    code: 'settings',
    message: expect.stringContaining('the service has no /v1/wallet/coin: HTTP 404'),
    cure: expect.stringContaining('check the base URL'),
  });
  expect(sandbox.stats.requests['/v1/wallet/coin']).toBe(0);
});
