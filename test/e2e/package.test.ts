import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type * as library from '../../src/library/open-ledger.ts';
import type * as emulator from '../../src/library/sandbox.ts';
import { packPackage } from '../support/packed-package.ts';
import { runProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

const { folder, files, bytes } = packPackage();
const shop = `typescript_${process.pid}_${Date.now()}`;
const [application, query, tests] = [
  ...readFileSync('docs/applications.md', 'utf8').matchAll(/^```ts\n(.*?)^```$/gms),
].map(([, code = '']) => code);

const programs = { 'application.ts': application, 'query.ts': query, 'tests.ts': tests };
writeFileSync(join(folder, 'package.json'), '{"type": "module", "private": true}');
for (const [name, code] of Object.entries(programs)) writeFileSync(join(folder, name), code ?? '');

/** Compiles the programs of docs/applications.md against the package's types; returns what TypeScript complains about. */
function compile(options: Record<string, unknown>): string[] {
  const compilerOptions = { strict: true, target: 'ES2023', types: ['node'], ...options };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const compiler = resolve('node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes('error'));
}

/** Without those of Drizzle's own types, which name drivers that nobody here has. */
const forNode = compile({ module: 'NodeNext', exactOptionalPropertyTypes: true }).filter(
  (line) => !line.includes('drizzle-orm/'),
);

/** Runs a compiled program of the folder. */
function run(program: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [join(folder, program)], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part) => {
      output += part;
    });
  const ended = new Promise<number | null>((done) => child.once('close', done));
  return { child, output: () => output, ended };
}

test('the tarball has what runs, its types and its documents, and nothing else', () => {
  const allowed =
    /^(dist\/(src|jobs)\/[\w./-]+\.(js|d\.ts)|migrations\/\d{4}_\w+\.sql|migrations\/meta\/_journal\.json|docs\/[\w-]+\.md|examples\/[\w-]+\.mjs|ops\/[\w.-]+|(package\.json|LICENSE|README\.md|CHANGELOG\.md))$/;
  expect(files.filter((file) => !allowed.test(file) || /(^|\/)test/.test(file))).toEqual([]);
  expect(files).toEqual(
    expect.arrayContaining([
      'dist/src/cli/main.js',
      'migrations/0000_ledger_tables.sql',
      'LICENSE',
    ]),
  );
  expect(bytes).toBeLessThan(6_000_000);
  const manifest = JSON.parse(
    readFileSync(join(folder, 'node_modules/wallet-ledger/package.json'), 'utf8'),
  ) as Record<string, unknown> & { exports: Record<string, string | Record<string, string>> };
  expect(manifest).not.toHaveProperty('private');
  const entries = Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === 'string' ? [entry] : Object.values(entry),
  );
  expect(entries.filter((entry) => !files.includes(entry.slice(2)))).toEqual([]);
});

test('npx finds the program, which needs no package of development', () => {
  const npx = (arg: string) =>
    execFileSync('npx', ['--no', '--', 'wallet-ledger', arg], { cwd: folder, encoding: 'utf8' });
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(npx('--version').trim()).toBe(version);
  expect(npx('--help')).toContain('backfill');
});

test('the programs of docs/applications.md fit the types, for Node and for bundlers', () => {
  expect(forNode).toEqual([]);
  const bundled = { module: 'ESNext', moduleResolution: 'bundler', noEmit: true };
  expect(compile({ ...bundled, skipLibCheck: true })).toEqual([]);
});

test('an application takes an address, waits for its deposit and credits it, with the rights of issuer and consumer', async () => {
  const service = await withService({ transactions: 20 });
  const env: Record<string, string> = {
    ...service.env,
    ADDRESS_POOLS: '60:2:5',
    SYNC_TRANSACTIONS_EVERY: '1s',
    SYNC_DETAILS_EVERY: '1s',
  };
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  expect((await runProgram(['pool', 'refill'], env)).code).toBe(0);
  const roles = ['--issuer', shop, '--consumer', shop];
  expect((await runProgram(['migrate', ...roles], env)).code).toBe(0);
  await service.query(`alter role ${shop} login password '${shop}'`);
  await service.query(`create schema shop authorization ${shop}`);
  onTestFinished(async () => {
    await service.query(`drop owned by ${shop} cascade; drop role ${shop}`);
  });
  await service.query(`create table shop.credits (wallet text, order_no text, customer text, symbol text, amount numeric,
    primary key (wallet, order_no)); grant all on shop.credits to ${shop}`);
  const url = new URL(String(env['DATABASE_URL']));
  url.username = shop;
  url.password = shop;

  const program = join(folder, 'node_modules', '.bin', 'wallet-ledger');
  const daemon = spawn(program, ['start'], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: 'ignore',
  });
  onTestFinished(() => void daemon.kill('SIGKILL'));
  const running = run('application.js', { DATABASE_URL: url.href });
  await until(async () => /alice pays to 0x/.test(running.output()));
  const toAddress = /0x[\da-fA-F]{40}/.exec(running.output())?.[0] ?? '';
  const deposit = {
    type: 'deposit',
    toAddress,
    symbol: 'USDT',
    slip44: 60,
    amount: '12.5',
  } as const;
  const [orderNo = ''] = service.sandbox.world.addTransactions(1, { ...deposit, state: 'success' });
  const credits = () =>
    service.query('select order_no, customer, symbol, amount::text from shop.credits');
  await until(async () => (await credits()).length > 0, 60_000);
  expect(running.output()).toContain('12.5 USDT on the way');
  expect(await credits()).toEqual([
    { order_no: orderNo, customer: 'alice', symbol: 'USDT', amount: '12.5' },
  ]);
  service.sandbox.world.setState(orderNo, 'failed');
  await until(async () => (await credits()).length === 0, 60_000);
  running.child.kill('SIGTERM');
  expect([await running.ended, running.output()]).toEqual([0, running.output()]);
  const stopped = new Promise((done) => daemon.once('close', done));
  daemon.kill('SIGTERM');
  expect(await stopped).toBe(0);

  // The daemon's role reads everything, the shop's nothing but the feed.
  const reading = run('query.js', { DATABASE_URL: String(env['DATABASE_URL']) });
  expect([await reading.ended, reading.output()]).toEqual([0, expect.stringContaining('amount:')]);
  const refused = run('query.js', { DATABASE_URL: url.href });
  expect([await refused.ended, refused.output()]).toEqual([
    1,
    expect.stringContaining('permission denied'),
  ]);
}, 180_000);

test('importing the library starts nothing; the sandbox serves deposits as it is told', async () => {
  const entry = (file: string) =>
    import(pathToFileURL(join(folder, 'node_modules/wallet-ledger/dist/src/library', file)).href);
  const { LedgerError } = (await entry('open-ledger.js')) as typeof library;
  expect(new LedgerError('timed-out', 'late')).toMatchObject({ cure: expect.any(String) });
  // The driver and Drizzle are loaded by openLedger, and nothing of pg is changed before.
  writeFileSync(
    join(folder, 'import.cjs'),
    `import('wallet-ledger').then(() => console.log(Object.keys(require.cache).join()))`,
  );
  const importing = run('import.cjs', {});
  expect([await importing.ended, importing.output()]).toEqual([
    0,
    expect.not.stringMatching(/node_modules.(pg|drizzle-orm)./),
  ]);
  const idle = run('tests.js', {});
  expect([await idle.ended, idle.output()]).toEqual([
    0,
    expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/api/),
  ]);

  const { startSandbox } = (await entry('sandbox.js')) as typeof emulator;
  const sandbox = await startSandbox({ signer: 'none', wallets: ['eu', 'us'] });
  onTestFinished(() => sandbox.close());
  expect(Object.keys(sandbox.settings)).toContain('EU__WALLET_API_SECRET');
  expect(sandbox.wallets.map(({ name }) => name)).toEqual(['eu', 'us']);
  const orderNo = sandbox.addDeposit({ symbol: 'BTC', amount: '0.50000001' });
  const read = async () => {
    const answer = await fetch(`${sandbox.url}/v1/transaction/info?orderNo=${orderNo}`);
    return ((await answer.json()) as { data: Record<string, unknown> }).data;
  };
  expect(await read()).toMatchObject({ symbol: 'BTC', amount: '0.50000001', state: 'pending' });
  sandbox.advance(90_001);
  expect(['success', 'failed']).toContain((await read())['state']);
  sandbox.setState(orderNo, 'failed');
  expect(await read()).toMatchObject({ state: 'failed' });
  sandbox.setFaults({ next: ['server-error'] });
  expect((await fetch(`${sandbox.url}/v1/wallet/balance`)).status).toBe(500);
  for (const wrong of [
    { symbol: 'XYZ' },
    { slip44: 999 },
    { amount: '1e5' },
    { wallet: 'jp' },
    { symbol: 'BTC', amount: '0.000000001' },
  ])
    expect(() => sandbox.addDeposit(wrong)).toThrow(/sandbox has no|amount of|amount must/);
});
