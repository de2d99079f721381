import { expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts';
import { freePort } from '../support/free-port.ts';
import { runProgram } from '../support/run-cli.ts';
import { openTcpGate } from '../support/tcp-gate.ts';
import { withService } from '../support/with-service.ts';

const requestsOf = (sandboxes: readonly Pick<Sandbox, 'stats'>[]) =>
  sandboxes.flatMap(({ stats }) => Object.values(stats.requests)).reduce((sum, n) => sum + n, 0);

/** Two accounts of one service, the environment of the first, and the settings that change it to another's. */
async function withAccounts(transactions: number) {
  const service = await withService({ transactions, wallets: ['main', 'other'] });
  const { sandbox, query } = service;
  const [main, other] = sandbox.wallets.map(({ credentials: { apiKey, apiSecret } }) => ({
    WALLET_API_KEY: apiKey,
    WALLET_API_SECRET: apiSecret,
  }));
  const shared = Object.entries(service.env).filter(([name]) => !/^WALLETS$|__/.test(name));
  const env = { ...Object.fromEntries(shared), ...main };
  const gate = await openTcpGate(sandbox.baseUrl);
  onTestFinished(() => gate.close());
  const record = async (change: Record<string, string> = {}) => {
    for (const { stats } of sandbox.wallets) stats.reset();
    const ended = await runProgram(['migrate', '--wallet-key'], { ...env, ...change });
    return { ...ended, requests: requestsOf(sandbox.wallets) };
  };
  const identity = async () => (await query('select * from ledger.wallets'))[0];
  return { sandbox, query, env, other, gate: { WALLET_BASE_URL: gate.url }, record, identity };
}

test('the key of another wallet is not recorded, nor one that the service does not answer', async () => {
  const { env, other, gate, record, identity, query } = await withAccounts(30);
  const filled = { ...env, ADDRESS_POOLS: '60:3:5' };
  expect(await runProgram(['backfill'], filled)).toMatchObject({ code: 0 });
  const before = await identity();
  const stranger = await record({ ...other });
  expect(stranger).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      "knows none of the ledger's 30 transactions under this key: it seems to be another wallet's",
    ),
  });
  expect(stranger.stderr).toContain('DATABASE_URL');
  expect(stranger.requests).toBeLessThanOrEqual(8);
  const granted = await runProgram(['migrate', '--wallet-key', '--reader', 'some_reader'], {
    ...env,
    ...other,
  });
  expect(granted.code).toBe(2);
  expect(await query("select from pg_roles where rolname = 'some_reader'")).toEqual([]);
  const refused = await record({ WALLET_API_SECRET: 'mistyped', WALLET_API_KEY: 'mistyped' });
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('HTTP 401')]);
  const nowhere = { WALLET_BASE_URL: `http://127.0.0.1:${await freePort()}/api` };
  expect(await record(nowhere)).toMatchObject({ code: 4 });
  expect(await identity()).toEqual(before);

  // Nothing changes, so that nothing is asked.
  expect(await record()).toMatchObject({ code: 0, requests: 0 });
  expect(await record(gate)).toMatchObject({ code: 0, requests: 1 });
  expect(await identity()).toMatchObject({ base_url: gate.WALLET_BASE_URL });
}, 120_000);

test('a wallet is recognized by an order that its lists no longer begin with', async () => {
  const { sandbox, env, other, gate, record, query } = await withAccounts(30);
  expect(await runProgram(['backfill'], env)).toMatchObject({ code: 0 });
  sandbox.world.addTransactions(500);
  const known = await record(gate);
  expect([known.code, known.requests <= 8]).toEqual([0, true]);
  // Another wallet may number its orders alike.
  const [first] = sandbox.wallets[1]?.world.addTransactions(1) ?? [];
  await query(`update ledger.transactions set order_no = '${first}'
    where order_no = (select min(order_no) from ledger.transactions)`);
  expect(await record({ ...other })).toMatchObject({ code: 2 });
}, 120_000);

test('a ledger without transactions is recognized by its addresses, and one without both accepts any key', async () => {
  const { env, other, gate, record } = await withAccounts(0);
  const nowhere = { WALLET_BASE_URL: 'http://127.0.0.1:9/api' };
  expect(await record(nowhere)).toMatchObject({ code: 0, requests: 0 });
  expect(await record()).toMatchObject({ code: 0, requests: 0 });
  const filled = { ...env, ADDRESS_POOLS: '60:3:5' };
  expect(await runProgram(['pool', 'refill'], filled)).toMatchObject({ code: 0 });
  expect(await record({ ...other })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/knows none of the ledger's \d+ addresses under this key/),
  });
  const known = await record(gate);
  expect([known.code, known.requests <= 2]).toEqual([0, true]);
}, 120_000);
