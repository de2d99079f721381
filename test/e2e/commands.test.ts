import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bundledProgram } from '../support/bundled-program.ts';
import { startListingService } from '../support/listing-service.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { withService } from '../support/with-service.ts';

test('every command has its help and unknown ones are bad usage', async () => {
  const help = await runProgram(['--help']);
  expect(help.code).toBe(0);
  for (const command of [
    'start',
    'backfill',
    'sync',
    'status',
    'show',
    'pool',
    'verify',
    'rejects',
    'doctor',
    'migrate',
    'sandbox',
    'demo',
  ]) {
    expect(help.stdout).toContain(command);
    expect((await runProgram([command, '--help'])).code).toBe(0);
  }
  expect((await runProgram(['no-such-command'])).code).toBe(2);
  expect((await runProgram(['backfill', '--type', 'both'])).code).toBe(2);
});

test('output that is lost ends with 1, and an address that could not be printed is named', async () => {
  const { env, query } = await withService({ transactions: 0 });
  const settings = { PATH: process.env['PATH'] ?? '', ...env, ADDRESS_POOLS: '60:2:4' };
  expect((await runProgram(['sync'], settings)).code).toBe(0);
  const lose = (args: string) =>
    spawnSync('sh', ['-c', `"${process.execPath}" "${bundledProgram}" ${args} >/dev/full`], {
      env: settings,
      encoding: 'utf8',
    });
  for (const args of [
    'status --json',
    'status',
    'completion bash',
    'pool list --json',
    '--version',
  ])
    expect([args, lose(args)]).toMatchObject([
      args,
      { status: 1, stderr: expect.stringContaining('the output is lost: ENOSPC') },
    ]);
  const taken = lose('pool take 60');
  const [row] = await query("select address from ledger.addresses where status = 'assigned'");
  expect(taken).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`${row?.['address']}`),
  });
  for (const { stderr } of [taken, lose('export --format csv'), lose('status')])
    expect(stderr.match(/^wallet-ledger: .*$/gm)).toEqual([expect.stringContaining('ENOSPC')]);
});

test('the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await runProgram(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
});

test('all mistakes in the settings are named at once, with exit code 2 and no stack trace', async () => {
  const { code, stderr } = await runProgram(['start'], {
    WALLET_BASE_URL: 'http://service.example',
    WALLET_MAX_RPS: 'many',
    SYNC_DETAILS_EVERY: 'often',
  });
  expect(code).toBe(2);
  for (const name of ['WALLET_BASE_URL', 'WALLET_MAX_RPS', 'SYNC_DETAILS_EVERY'])
    expect(stderr).toContain(name);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  const unset = await runProgram(['sync']);
  expect(unset.code).toBe(2);
  expect(unset.stderr).toContain('WALLET_BASE_URL');
});

test('a wrong secret ends with 4 and does not show it, an unreachable service with 4, an unreachable database with 5', async () => {
  const { env } = await withService({ transactions: 50 });
  const [wrong, unreachable, noDatabase] = await Promise.all([
    runProgram(['backfill'], { ...env, WALLET_API_SECRET: 'not-the-secret-of-this-wallet' }),
    runProgram(['sync', 'coins'], { ...env, WALLET_BASE_URL: 'http://127.0.0.1:9/api' }),
    runProgram(['status'], { ...env, DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' }),
  ]);
  expect(wrong.code).toBe(4);
  expect(wrong.stderr).toContain('WALLET_API_SECRET');
  expect(wrong.stderr + wrong.stdout).not.toContain('not-the-secret-of-this-wallet');
  expect(unreachable.code).toBe(4);
  expect(noDatabase.code).toBe(5);
  expect(noDatabase.stderr).toContain('DATABASE_URL');
}, 90_000);

test('a row that can not be stored at all makes the backfill end with 3', async () => {
  const { sandbox, env, query } = await withService({ transactions: 100 });
  sandbox.world.addRawListRow('deposit', {
    symbol: 'BTC',
    amount: '1',
    type: 'deposit',
    state: 'success',
    time: Date.now(),
  });
  const { code, stderr } = await runProgram(['backfill'], env);
  expect(stderr).toContain('NOT proven complete');
  expect(code).toBe(3);
  // No repair can store it either.
  expect(await runProgram(['verify'], env)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('1 row differs from the service; see the lines above'),
  });
  await query(`update ledger.transactions set amount = amount + 1
                where order_no = (select min(order_no) from ledger.transactions)`);
  expect(await runProgram(['verify'], env)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /differ from the service; run `wallet-ledger verify --repair`, which can repair \d+ of them; see .* `wallet-ledger rejects` for those that cannot be stored/,
    ),
  });
}, 90_000);

test('verify proposes no repair for an address that the service does not list', async () => {
  const { env, query } = await withService({ transactions: 0 });
  const settings = { ...env, ADDRESS_POOLS: '60:1:1' };
  expect((await runProgram(['backfill'], settings)).code).toBe(0);
  await query(`insert into ledger.addresses (slip44, address, status, first_seen_at)
    values (60, '0x' || repeat('ab', 20), 'foreign', now())`);
  expect(await runProgram(['verify'], settings)).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /1 row differs from the service; the service does not list addresses that the ledger has: ask the operator/,
    ),
  });
}, 60_000);

test('verify does not call a list equal of which the service refused a page that may be more than its end', async () => {
  const { env } = await withService({ transactions: 0 });
  const service = await startListingService();
  onTestFinished(() => service.close());
  const rows = Array.from({ length: 250 }, (_, nth) =>
    JSON.stringify({
      ...{ orderNo: `order-${nth}`, symbol: 'BTC', amount: '1', type: 'deposit', state: 'success' },
      time: Date.now() - nth * 60_000,
    }),
  );
  service.lists.set('deposit', rows);
  service.lists.set('withdraw', []);
  service.twist = (page, { list, pageNo }) =>
    list === 'deposit'
      ? {
          ...page,
          totalSize: null,
          ...(pageNo > 2 && { body: '{"code":40002,"data":null,"msg":"page out of range"}' }),
        }
      : page;
  const settings = { ...env, WALLET_BASE_URL: service.baseUrl };
  await runProgram(['backfill', '--no-details'], settings);
  const { code, stdout, stderr } = await runProgram(['verify'], settings);
  expect(stdout).toContain(
    'deposit: 200 compared, no difference up to the page that the service refused',
  );
  expect(stderr).toContain('deposit: the service refused the page where the list may end');
  expect(code).toBe(3);
  const { streams } = JSON.parse((await runProgram(['verify', '--json'], settings)).stdout);
  expect(streams).toMatchObject([
    { name: 'deposit', compared: 200, isEndRefused: true },
    { name: 'withdraw', isEndRefused: false },
    ...streams.slice(2),
  ]);
});

test('verify names values that it cannot read and parts that the service does not answer, beside what it compared', async () => {
  const { env } = await withService({ transactions: 0 });
  const service = await startListingService();
  onTestFinished(() => service.close());
  const shown = { symbol: 'BTC', type: 'deposit', state: 'success', time: Date.now() - 60_000 };
  const show = (amount: string) => {
    const row = JSON.stringify({ orderNo: 'order-1', amount, ...shown });
    service.lists.set('deposit', [row]);
    service.details.set('order-1', row);
  };
  service.lists.set('withdraw', []);
  show('1.5');
  const settings = { ...env, WALLET_BASE_URL: service.baseUrl };
  await runProgram(['backfill'], settings);
  show('1,500.00');
  service.fault = (asked) => (asked.includes('/wallet/balance') ? 'http-500' : null);
  const { code, stdout, stderr } = await runProgram(['verify'], settings);
  expect(stdout).toContain('1 with values that could not be read');
  expect(stdout).toContain('could not be read: order-1 (amount)');
  expect(stdout).toMatch(/balances: not compared: GET \/v1\/wallet\/balance: HTTP 500/);
  expect(stdout).toContain('coins: 0 compared, equal');
  expect(stderr).toContain('1 row has values that could not be read');
  expect(code).toBe(4);
  service.fault = () => null;
  const whole = await runProgram(['verify', '--json'], settings);
  expect(whole.code).toBe(3);
  const { streams, failed } = JSON.parse(whole.stdout);
  expect(streams[0]).toMatchObject({ unreadable: [{ orderNo: 'order-1', fields: ['amount'] }] });
  expect(failed).toEqual([]);
}, 60_000);

test('verify does not call a balance equal that transactions may have moved, and a repair reads it again', async () => {
  const { env, query } = await withService({ transactions: 50 });
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  const held = 'select balance from ledger.balances order by slip44, symbol, contract_address';
  const before = await query(held);
  await query(`update ledger.balances set balance = balance + 1 where symbol = 'BTC'`);
  await query(`update ledger.transactions set changed_at = now() + interval '1 s'
    where order_no = (select min(order_no) from ledger.transactions where symbol = 'BTC')`);
  const { code, stdout } = await runProgram(['verify'], env);
  expect(stdout).toMatch(
    /balances: \d+ compared, equal except 1 that may have moved since the ledger read it\n {2}not judged: 0\/BTC \(balance: /,
  );
  expect(code).toBe(0);
  expect(await runProgram(['verify', '--repair'], env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/balances: \d+ compared, equal\n/),
  });
  expect(await query(held)).toEqual(before);
}, 60_000);

test('status --json is one document in the shape that users rely on', async () => {
  const { env } = await withService({ transactions: 200 });
  await runProgram(['backfill', '--type', 'deposit'], env);
  const { code, stdout } = await runProgram(['status', '--json'], env);
  expect(code).toBe(0);
  const status = JSON.parse(stdout);
  expect(status).toMatchObject({
    streams: [{ name: 'deposit', listOrder: 'newest-first', pageSize: 100, isComplete: true }],
    transactions: { incomplete: 0 },
    rejects: 0,
    pools: [],
    queue: {
      backend: 'postgres',
      waiting: 0,
      active: 0,
      failed: 0,
      isPaused: false,
      heldBy: null,
      refusal: null,
    },
    lastErrors: [],
  });
  expect(status.streams[0].serviceTotal).toBe(status.streams[0].ledgerCount);
  expect(status.transactions.total).toBe(status.streams[0].ledgerCount);
  const [plain, coloured, uncoloured] = await Promise.all([
    runProgram(['status'], env),
    runProgram(['status'], { ...env, FORCE_COLOR: '1' }),
    runProgram(['status'], { ...env, FORCE_COLOR: '0' }),
  ]);
  expect(plain.stdout).toContain('✓ deposit');
  expect(plain.stdout + uncoloured.stdout).not.toContain('\u001b');
  expect(coloured.stdout).toContain('\u001b[');
}, 60_000);

test('the sandbox prints the settings that reach it', async () => {
  const sandbox = startProgram([
    'sandbox',
    '--port',
    '0',
    '--transactions',
    '60',
    '--arrivals',
    '0',
  ]);
  await sandbox.line('sandbox listening');
  const lines = (await sandbox.line('WALLET_BASE_URL=')).trim();
  expect(lines).toMatch(/^WALLET_BASE_URL=http:\/\/127\.0\.0\.1:\d+\/api$/);
  sandbox.process.kill('SIGINT');
  expect((await sandbox.ended).code).toBe(0);
});

test('the demo leaves the database and the secret alone that files of the settings hold', async () => {
  const LEDGER_DATA_DIR = temporaryFolder();
  const { env, query } = await withService({ transactions: 0 });
  await query('create table ledger.kept_row as select 1 as kept');
  const file = join(LEDGER_DATA_DIR, 'database-url');
  writeFileSync(file, env['DATABASE_URL'] ?? '', { mode: 0o600 });
  const demo = startProgram(['demo', '--once'], {
    LEDGER_DATA_DIR,
    DATABASE_URL_FILE: file,
    WALLET_API_SECRET_FILE: join(LEDGER_DATA_DIR, 'no-such-file'),
  });
  // The database has been emptied by then, and the service is asked.
  await demo.line(/progress after .* rows/);
  demo.process.kill('SIGINT');
  expect((await demo.ended).code).toBe(130);
  expect(await query('select kept from ledger.kept_row')).toEqual([{ kept: 1 }]);
}, 120_000);

test('the demo fills an embedded database from nothing, whatever wallet is set; with several wallets it names each, and begins anew', async () => {
  const LEDGER_DATA_DIR = temporaryFolder();
  const first = await runProgram(['demo', '--once'], {
    LEDGER_DATA_DIR,
    WALLET_SIGN_HASH: 'sha512',
    WALLET_PARAM_NAMES: 'chain=coin',
    WALLET_PAGE_SIZE: '7',
    ON_MOVE: 'stop',
  });
  expect(first.stdout).toContain('psql');
  expect(first.stdout).toContain('proven complete');
  expect(first.code).toBe(0);
  const next = await runProgram(['demo', '--once', '--wallets', 'eu,us'], { LEDGER_DATA_DIR });
  expect(next.stdout.match(/^ {2}Wallet .*$/gm)).toEqual(['  Wallet eu', '  Wallet us']);
  expect(next.stdout.match(/: proven complete/g)?.length).toBeGreaterThanOrEqual(4);
  expect(next.code).toBe(0);
}, 240_000);
