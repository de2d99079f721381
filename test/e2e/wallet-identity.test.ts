import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('the ledger of one wallet refuses the settings of another, says how to go on, and writes nothing', async () => {
  const { env, query } = await withService({ transactions: 20 });
  const run = (args: string[], change: Record<string, string> = {}) =>
    runProgram(args, { ...env, ...change });
  const wallets = () => query('select wallet, base_url, key_fingerprint from ledger.wallets');
  const wallet = async (change: Record<string, string> = {}) => {
    const { checks } = JSON.parse((await run(['doctor', '--json'], change)).stdout);
    return (checks as { name: string; verdict: string; cure: string }[]).find(
      ({ name }) => name === 'wallet',
    );
  };
  await run(['migrate']);
  await run(['verify']);
  expect([await wallets(), (await wallet())?.verdict]).toEqual([[], 'good']);
  expect(await run(['sync', 'coins'])).toMatchObject({ code: 0 });
  const [stored] = await wallets();
  expect(stored).toEqual({
    wallet: 'main',
    base_url: env['WALLET_BASE_URL'],
    key_fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  // The same address, written otherwise.
  const slash = { WALLET_BASE_URL: `${env['WALLET_BASE_URL']?.replace('http', 'HTTP')}/` };
  expect(await run(['sync', 'coins'], slash)).toMatchObject({ code: 0 });

  const elsewhere = { WALLET_BASE_URL: 'http://127.0.0.1:9/api' };
  const otherKey = { WALLET_API_KEY: 'another-key' };
  // Refused before rows are judged by them.
  const states = { WALLET_FINAL_STATES: 'success', WALLET_SUCCESS_STATES: 'success' };
  for (const change of [elsewhere, otherKey]) {
    for (const command of [['sync'], ['backfill'], ['verify', '--repair'], ['verify'], ['start']]) {
      const { code, stderr } = await run(command, { ...change, ...states });
      expect([command, code, stderr.trim().split('\n').length]).toEqual([command, 2, 1]);
      expect(stderr).toContain('another wallet');
      expect(stderr).toContain('migrate --wallet-key');
      expect(stderr).toContain('DATABASE_URL');
    }
    expect(await wallet(change)).toMatchObject({ verdict: 'bad' });
  }
  expect(await wallets()).toEqual([stored]);
  expect(await query("select from ledger.sync_runs where job <> 'coins'")).toEqual([]);
  const accepted = await run(['migrate', '--wallet-key'], elsewhere);
  expect([accepted.code, (await wallets())[0]?.['base_url']]).toEqual([
    0,
    'http://127.0.0.1:9/api',
  ]);
  expect(await run(['sync', 'coins'])).toMatchObject({ code: 2 });
  expect(await run(['migrate', '--wallet-key'])).toMatchObject({ code: 0 });
  expect(await run(['sync', 'coins'])).toMatchObject({ code: 0 });
}, 120_000);
