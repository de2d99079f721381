import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { FaultKind } from '../../src/sandbox/sandbox-faults.ts';
import { type SandboxOptions, withDefaults } from '../../src/sandbox/sandbox-options.ts';
import { sandboxSettings } from '../../src/sandbox/sandbox-settings.ts';
import { createSandboxWallets } from '../../src/sandbox/sandbox-wallets.ts';
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts';
import type { WalletWorld } from '../../src/sandbox/world/wallet-world.ts';
import { call, callJson } from './signed-call.ts';
import { withSandbox } from './with-sandbox.ts';

const start = Date.UTC(2025, 5, 1);
const coin = '/v1/wallet/coin';
const list = '/v1/transaction/list';

function createWallets(options: Partial<SandboxOptions> = {}) {
  const time = { now: start };
  const clock = () => time.now;
  return { time, wallets: createSandboxWallets(withDefaults({ clock, ...options })) };
}

function createWorlds(options: Partial<SandboxOptions> = {}) {
  const { time, wallets } = createWallets(options);
  return { time, worlds: wallets.map(({ world }) => world) };
}

/** Sandbox of two wallets, each as the target of signed calls. */
async function withTwo(options: Partial<SandboxOptions> = {}) {
  const sandbox = await withSandbox({ wallets: ['eu', 'us'], ...options });
  const [eu, us] = sandbox.wallets.map((wallet) => ({ ...wallet, baseUrl: sandbox.baseUrl }));
  return { sandbox, eu: eu!, us: us! };
}

/** Pairs of a withdrawal and the deposit in another wallet that has its hash. */
function transfersBetween(sender: WalletWorld, recipient: WalletWorld) {
  const deposits = new Map(recipient.transactions('deposit').map((row) => [row.txHash, row]));
  return sender.transactions('withdraw').flatMap((withdrawal) => {
    const deposit = withdrawal.txHash !== '' && deposits.get(withdrawal.txHash);
    return deposit ? [{ withdrawal, deposit }] : [];
  });
}

async function control(sandbox: Sandbox, path: string, body?: object) {
  const init = body && { method: 'POST', body: JSON.stringify(body) };
  const answer = await fetch(new URL(`/control/${path}`, sandbox.baseUrl), init);
  // biome-ignore lint/suspicious/noExplicitAny: the answers are what the tests look into
  return { status: answer.status, data: (await answer.json()) as any };
}

describe('the wallets of a sandbox', () => {
  test('are one with the same key and history as before, if not configured', () => {
    const { time, wallets } = createWallets({ seed: 7, transactions: 500, arrivalsPerSecond: 2 });
    time.now += 30_000;
    expect(wallets.map(({ name }) => name)).toEqual(['main']);
    const { world, credentials } = wallets[0]!;
    const parts = [world.transactions(), world.balances(), world.addresses(60), credentials];
    const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
    expect(digest).toBe('4949cf09f0045a8366444be1cdeb7d9e0d4da173984f214a33f91f9cbefebe83');
  });

  test.each(['params-secp256k1', 'params-hmac', 'body-ed25519'] as const)(
    'have their own keys with %s, and the first one has the key of a single wallet',
    async (signer) => {
      const { sandbox, eu, us } = await withTwo({ signer, seed: 3 });
      expect(sandbox.credentials).toEqual((await withSandbox({ signer, seed: 3 })).credentials);
      expect(eu.credentials).toEqual(sandbox.credentials);
      expect(us.credentials.apiKey).not.toBe(eu.credentials.apiKey);
      expect(us.credentials.apiSecret).not.toBe(eu.credentials.apiSecret);
      expect((await callJson(us, coin)).code).toBe(0);
      const mixed = { ...us, credentials: { ...us.credentials, apiKey: eu.credentials.apiKey } };
      expect((await call(mixed, coin)).status).toBe(401);
    },
  );

  test('are distinguished by the key, and share neither rows, addresses, nonces nor counts', async () => {
    const { eu, us } = await withTwo();
    const nonce = String(Date.now() * 10);
    for (const wallet of [eu, us]) {
      const { data } = await callJson(wallet, list, { query: 'pageSize=1', nonce });
      expect(data.list[0].orderNo).toBe(wallet.world.transactions().at(-1)!.orderNo);
      expect(wallet.stats.requests[list]).toBe(1);
    }
    const keysOf = ({ world }: typeof eu) => [
      ...world.transactions().map((row) => row.orderNo),
      ...[0, 2, 60, 195].flatMap((slip44) => world.addresses(slip44)),
    ];
    expect(new Set([...keysOf(eu), ...keysOf(us)]).size).toBe(2 * (200 + 200));
    await callJson(us, '/v1/wallet/address', { body: '{"slip44":60,"num":3}' });
    expect([eu.world.generated(60), us.world.generated(60)]).toEqual([0, 3]);
  });

  test('have a rate limit each', async () => {
    const { eu, us } = await withTwo({ rate: 1, clock: () => start });
    expect((await call(eu, coin)).status).toBe(200);
    expect((await call(eu, coin)).status).toBe(429);
    expect((await call(us, coin)).status).toBe(200);
  });

  test('do not include an unknown key', async () => {
    const { sandbox, us } = await withTwo();
    const answer = await call(sandbox, coin, { headers: { 'BIZ-API-KEY': 'unknown' } });
    expect([answer.status, await answer.json()]).toMatchObject([401, { code: 10002 }]);
    expect(us.stats.signatureFailures).toBe(0);
  });

  test('share all settings except their keys', async () => {
    const { sandbox, eu, us } = await withTwo();
    expect(sandboxSettings(sandbox)).toEqual({
      WALLETS: 'eu,us',
      WALLET_BASE_URL: sandbox.baseUrl,
      WALLET_SIGNER: 'params-secp256k1',
      EU__WALLET_API_KEY: eu.credentials.apiKey,
      EU__WALLET_API_SECRET: eu.credentials.apiSecret,
      US__WALLET_API_KEY: us.credentials.apiKey,
      US__WALLET_API_SECRET: us.credentials.apiSecret,
    });
    const single = await withSandbox({ wallets: ['eu'] });
    expect(sandboxSettings(single)).toMatchObject({
      WALLETS: 'eu',
      WALLET_API_KEY: eu.credentials.apiKey,
    });
  });
});

describe('transfers between wallets', () => {
  test.each([2, 3])('of %i go from each wallet to the next one', (count) => {
    const wallets = Array.from({ length: count }, (_, i) => `w${i}`);
    const { worlds } = createWorlds({ wallets, transactions: 5_000 });
    for (const [place, sender] of worlds.entries()) {
      const recipient = worlds[(place + 1) % count]!;
      const addresses = new Set([0, 2, 60, 195].flatMap((slip44) => recipient.addresses(slip44)));
      const withdrawals = sender.transactions('withdraw');
      const pairs = transfersBetween(sender, recipient);
      expect(pairs.length).toBeGreaterThan(withdrawals.length * 0.03);
      expect(pairs.length).toBeLessThan(withdrawals.length * 0.07);
      // Every withdrawal to an address of the recipient is also a deposit there.
      expect(pairs).toHaveLength(withdrawals.filter((row) => addresses.has(row.toAddress)).length);
      for (const { withdrawal, deposit } of pairs) {
        expect([deposit.symbol, deposit.amount]).toEqual([withdrawal.symbol, withdrawal.amount]);
        expect(deposit.toAddress).toBe(withdrawal.toAddress);
        expect(deposit.fromAddress).toBe(withdrawal.fromAddress);
        expect(deposit.time).toBeGreaterThanOrEqual(withdrawal.time);
        expect([withdrawal.state, deposit.state]).toEqual(['success', 'success']);
      }
      for (const balance of sender.balances()) expect(balance.balance).not.toContain('-');
    }
  });

  test('arrive while the sandbox runs, whichever wallet is read and however often', () => {
    const options = { wallets: ['a', 'b'], transactions: 300, arrivalsPerSecond: 10 };
    const often = createWorlds(options);
    const seldom = createWorlds(options);
    const atStart = transfersBetween(often.worlds[0]!, often.worlds[1]!).length;
    for (let i = 0; i < 300; i++) {
      often.time.now += 1_000;
      often.worlds[i % 3 === 0 ? 1 : 0]!.balances();
    }
    seldom.time.now = often.time.now;
    for (const place of [1, 0]) {
      const rows = often.worlds[place]!.transactions();
      expect(rows).toHaveLength(300 + 3_000);
      expect(seldom.worlds[place]!.transactions()).toEqual(rows);
    }
    expect(transfersBetween(often.worlds[0]!, often.worlds[1]!).length).toBeGreaterThan(
      atStart + 20,
    );
  });

  test('need an address of the recipient', () => {
    const options = { wallets: ['a', 'b'], transactions: 2_000, addressesPerChain: 0 };
    const [a, b] = createWorlds(options).worlds;
    expect(transfersBetween(a!, b!)).toEqual([]);
  });
});

describe('a fault of one wallet', () => {
  test.each<[FaultKind, number | null]>([
    ['hang', null],
    ['unauthorized', 401],
  ])('%s does not affect the other wallet', async (kind, status) => {
    const { sandbox, eu, us } = await withTwo();
    await control(sandbox, 'faults?wallet=us', { rate: 1, kinds: [kind], hangMs: 50 });
    const answered = await call(us, coin).then(
      (answer) => answer.status,
      () => null,
    );
    expect(answered).toBe(status);
    expect((await call(eu, coin)).status).toBe(200);
    expect([eu.stats.faults[kind], us.stats.faults[kind]]).toEqual([0, 1]);
    await control(sandbox, 'faults?wallet=us', { rate: 0 });
    expect((await call(us, coin)).status).toBe(200);
  });

  test('in the totals of its lists does not affect the other wallet', async () => {
    const { sandbox, eu, us } = await withTwo();
    await control(sandbox, 'faults?wallet=us', { totalError: 5, match: '/transaction/' });
    const total = async (wallet: typeof eu, path: string, query = '') =>
      (await callJson(wallet, path, { query })).data.totalSize;
    expect([await total(eu, list), await total(us, list)]).toEqual([200, 205]);
    expect(await total(us, '/v1/wallet/address/list', 'slip44=60')).toBe(50);
    await control(sandbox, 'faults?wallet=us', { totalError: -5 });
    expect(await total(us, list)).toBe(195);
  });

  test('delays only that wallet', async () => {
    const { sandbox, eu, us } = await withTwo({ latencyMs: 1 });
    await control(sandbox, 'faults?wallet=us', { slowdown: 100 });
    let isAnswered = false;
    const began = performance.now();
    const slow = call(us, coin).then(() => {
      isAnswered = true;
    });
    expect((await call(eu, coin)).status).toBe(200);
    expect(isAnswered).toBe(false);
    await slow;
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
  });
});

describe('the control', () => {
  test('changes the wallet that it names, and the first one by default', async () => {
    const { sandbox, eu, us } = await withTwo();
    const counts = () => [eu, us].map(({ world }) => world.transactions().length);
    const deposit = { count: 2, type: 'deposit' };
    const added = await control(sandbox, 'transactions?wallet=us', deposit);
    expect(counts()).toEqual([200, 202]);
    await control(sandbox, 'transactions', deposit);
    expect(counts()).toEqual([202, 202]);
    const [orderNo] = added.data.orderNos;
    await control(sandbox, 'state?wallet=us', { orderNo, state: 'strange' });
    expect(us.world.detailText({ orderNo })).toContain('"state":"strange"');
    await call(us, coin);
    const { data } = await control(sandbox, 'stats?wallet=us');
    expect(data.requests[coin]).toBe(1);
  });

  test('refuses the name of an unknown wallet', async () => {
    const { sandbox } = await withTwo();
    const { status, data } = await control(sandbox, 'faults?wallet=ap', { rate: 1 });
    expect([status, data.error]).toEqual([400, 'Error: no wallet ap; there are eu, us']);
  });
});
