import { expect, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('doctor --json is one document, and a healthy installation ends with 0', async () => {
  const { env } = await withService({ transactions: 200 });
  const migrated = await runProgram(['migrate'], env);
  expect(migrated.code).toBe(0);
  const { code, stdout, stderr } = await runProgram(['doctor', '--json'], env);
  const { checks } = JSON.parse(stdout);
  for (const check of checks) {
    expect(Object.keys(check)).toEqual(['name', 'verdict', 'seen', 'cure']);
    expect(['good', 'warning']).toContain(check.verdict);
  }
  expect(checks.length).toBeGreaterThan(15);
  expect(code).toBe(0);
  expect(stdout + stderr).not.toContain(env['WALLET_API_SECRET']);
});

test('doctor ends with 2 for mistaken settings, 5 for the database and 4 for the service, one line for each check, and shows no secret', async () => {
  const { env } = await withService({ transactions: 50 });
  const { code, stdout, stderr } = await runProgram(['doctor', '--try-variants'], {
    ...env,
    WALLET_API_SECRET: 'not-the-secret-of-this-wallet',
    DATABASE_URL: 'postgres://nobody:also-hidden@127.0.0.1:9/none',
    HTTP_PORT: 'eighty',
  });
  expect(code).toBe(2);
  const lines = stdout.trim().split('\n');
  expect(lines.filter((line) => !/^(good|warning|BAD) +[\w-]+: ./.test(line))).toEqual([]);
  for (const name of ['settings', 'database', 'signature', 'signing-variants'])
    expect(stdout).toMatch(new RegExp(`^BAD +${name}:`, 'm'));
  expect(stdout + stderr).not.toMatch(/not-the-secret|also-hidden/);
  expect(stderr).toContain('trying 7 other ways to sign, one request each');
  const wordy = { ...env, DATABASE_URL: 'postgres://nobody:bad@127.0.0.1:9/none' };
  const [noDatabase, noService] = await Promise.all([
    runProgram(['doctor', '--json'], wordy),
    runProgram(['doctor'], { ...env, WALLET_API_SECRET: 'not-the-secret-of-this-wallet' }),
  ]);
  expect([noDatabase.code, noService.code]).toEqual([5, 4]);
  const { checks } = JSON.parse(noDatabase.stdout);
  expect(checks).toContainEqual(expect.objectContaining({ name: 'database', verdict: 'bad' }));
});

test('doctor that is stopped ends with 130 and blames no check for it', async () => {
  const { env } = await withService({ transactions: 50, latencyMs: 150 });
  const running = startProgram(['doctor'], env);
  await running.line('signature:');
  running.process.kill('SIGINT');
  const { code, stdout, stderr } = await running.ended;
  expect([code, stdout]).toEqual([130, expect.not.stringMatching(/^BAD/m)]);
  expect(stderr).toContain('wallet-ledger: stopped by SIGINT');
});

test('a process that waits for a pause of another one says so, with the time to go', async () => {
  const { env, query } = await withService({ transactions: 50 });
  const pause = () => query(`select ledger.pause_requests(12000)`);
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  await pause();
  const syncing = startProgram(['sync', 'transactions'], env);
  await syncing.line(/paused: the service asked to wait, \d+ s to go/);
  expect((await syncing.ended).code).toBe(0);
  await pause();
  const { code, stdout } = await runProgram(['doctor'], env);
  expect(stdout).toMatch(
    /^good +connection: .*\nwarning +pause: the service asked to wait, 1\d s to go — wait/m,
  );
  expect(code).toBe(0);
}, 90_000);

test('doctor --sign works offline and prints the public key, never the secret', async () => {
  const secret = '6d59626f7ffffa64f8a6b36e9fcc9551b54a1dfebb973606d24578adecebfbaf';
  const publicKey = '02a3c02e0a220a00102b94c093fbea424c49743d47cefddd4a11c1035c92466445';
  const env = {
    WALLET_BASE_URL: 'https://wallet.invalid/api',
    WALLET_API_SECRET: secret,
    WALLET_API_KEY: publicKey,
  };
  const path = '/v1/transaction/list?type=deposit&pageNo=1';
  const { code, stdout, stderr } = await runProgram(['doctor', '--sign', 'GET', path], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/GET\|\/api\/v1\/transaction\/list\|\d{13}\|pageNo=1&type=deposit\n/);
  expect(stdout).toContain(publicKey);
  expect(stdout + stderr).not.toContain(secret);
  expect((await runProgram(['doctor', '--sign', 'GET'], env)).code).toBe(2);
  expect((await runProgram(['doctor', '--sign', 'PATCH', path], env)).code).toBe(2);
});

test('doctor checks each wallet under its name, or the one that is named, with the same exit codes', async () => {
  const { env } = await withService({ transactions: 50, wallets: ['eu', 'us'] });
  expect((await runProgram(['migrate'], env)).code).toBe(0);
  const wrong = {
    ...env,
    US__WALLET_API_SECRET: 'ab'.repeat(32),
  };
  const both = await runProgram(['doctor'], wrong);
  expect(both.stdout).toMatch(/^good +eu: signature:/m);
  expect(both.stdout).toMatch(/^BAD +us: signature:/m);
  expect(both.stdout).toContain('`wallet-ledger doctor --try-variants --wallet us`');
  const named = await runProgram(['doctor', '--wallet', 'eu'], wrong);
  expect(named.stdout).not.toContain('us: ');
  expect([both.code, named.code]).toEqual([4, 0]);
  expect((await runProgram(['doctor', '--wallet', 'xx'], env)).code).toBe(2);
  const sign = ['doctor', '--sign', 'GET', '/v1/wallet/coin'];
  const unnamed = await runProgram(sign, env);
  expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('--wallet')]);
  const signed = await runProgram([...sign, '--wallet', 'us'], env);
  expect([signed.code, signed.stdout]).toEqual([
    0,
    expect.stringContaining('GET|/api/v1/wallet/coin|'),
  ]);
});

test('status groups by wallet, and shows only the one that is named', async () => {
  const { env } = await withService({ transactions: 50, wallets: ['eu', 'us'] });
  for (const wallet of ['eu', 'us'])
    expect((await runProgram(['backfill', '--wallet', wallet], env)).code).toBe(0);
  const both = await runProgram(['status'], env);
  expect(both.stdout.match(/^ Wallet \w+ /gm)).toEqual([' Wallet eu ', ' Wallet us ']);
  const one = await runProgram(['status', '--wallet', 'us'], env);
  expect(one.stdout).not.toContain(' Wallet ');
  const { wallets, streams } = JSON.parse(
    (await runProgram(['status', '--json', '--wallet', 'us'], env)).stdout,
  );
  expect(wallets.map(({ name }: { name: string }) => name)).toEqual(['us']);
  expect(streams.map(({ wallet }: { wallet: string }) => wallet)).toEqual(['us', 'us']);
});
