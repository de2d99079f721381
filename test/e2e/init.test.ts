import { execFile, spawn } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox-options.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { programOnPath } from '../support/program-on-path.ts';
import { startPostgres } from '../support/start-postgres.ts';

const program = resolve('dist/src/cli/main.js');
const names = { page: 'page', size: 'limit', chain: 'chainId', type: 'direction' };

/** A wallet service of other habits, and an empty folder to work in. */
async function begin(options: Partial<SandboxOptions> = {}) {
  const sandbox = await startSandbox({ transactions: 200, settleMs: 0, ...options });
  onTestFinished(() => sandbox.close());
  const folder = mkdtempSync(join(tmpdir(), 'wallet-ledger-init-'));
  chmodSync(folder, 0o700);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { sandbox, folder, path: join(folder, '.env'), ...sandbox.credentials };
}

type Ended = { code: number; stdout: string; stderr: string };

function run(folder: string, args: string[], { env = {}, stdin = '' } = {}): Promise<Ended> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [program, ...args],
      { cwd: folder, env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env } },
      (error, stdout, stderr) =>
        done({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    );
    child.stdin?.end(stdin);
  });
}

test('from nothing to a ledger that is proven complete, told only the address, the key and the secret', async () => {
  const { sandbox, folder, path, apiSecret } = await begin({
    signer: 'body-ed25519',
    paramNames: names,
  });
  const database = await startPostgres();
  onTestFinished(() => database.close());
  const told = ['init', '--base-url', `${sandbox.baseUrl}/v1`, '--secret-stdin'];
  const { code, stdout, stderr } = await run(folder, told, { stdin: `${apiSecret}\n` });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('signature   body-ed25519');
  expect(stdout).toContain('without the /v1 at its end');
  expect(stdout).toContain('wallet-ledger doctor');
  expect(stdout).not.toContain(apiSecret);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(parseEnv(readFileSync(path, 'utf8'))).toEqual({
    WALLET_BASE_URL: sandbox.baseUrl,
    WALLET_API_SECRET: apiSecret,
    WALLET_SIGNER: 'body-ed25519',
    WALLET_PARAM_NAMES: 'page=page,size=limit,type=direction,chain=chainId',
    WALLET_PAGE_SIZE: '100',
  });
  const env = { DATABASE_URL: database.connectionString };
  expect((await run(folder, ['backfill'], { env })).code).toBe(0);
  const status = JSON.parse((await run(folder, ['status', '--json'], { env })).stdout);
  const lists = status.streams.filter(({ name }: { name: string }) =>
    /^(deposit|withdraw)$/.test(name),
  );
  expect(lists.map(({ isComplete }: { isComplete: boolean }) => isComplete)).toEqual([true, true]);
}, 120_000);

test('a page parameter that is not found ends with 2, and the setting is the first thing to do', async () => {
  const { folder, apiSecret, sandbox } = await begin({
    paramNames: { page: 'blatt', size: 'per_page', chain: 'slip44', type: 'type' },
  });
  const args = ['init', '--base-url', sandbox.baseUrl, '--secret-stdin'];
  const { code, stdout } = await run(folder, args, { stdin: apiSecret });
  expect(code).toBe(2);
  expect(stdout).toContain('page=pageNo (WRONG)');
  expect(stdout.split('Next:\n')[1]).toMatch(
    /^ {2}set WALLET_PARAM_NAMES in it, such as page=NAME: /,
  );
  const { code: verdict, stdout: report } = await run(folder, ['doctor', '--json']);
  const checks: { name: string; verdict: string; seen: string }[] = JSON.parse(report).checks;
  expect(checks.filter((check) => check.verdict === 'bad').map(({ name }) => name)).toEqual([
    'param-page',
  ]);
  expect(checks.find(({ name }) => name === 'total-size')?.seen).toMatch(/^skipped: param-page/);
  expect(verdict).toBe(2);
}, 60_000);

test('a secret stays in its file, and one of the environment goes into the settings', async () => {
  const { sandbox, folder, path, apiKey, apiSecret } = await begin({ signer: 'params-hmac' });
  const secret = join(folder, 'secret');
  writeFileSync(secret, `${apiSecret}\n`, { mode: 0o600 });
  const args = ['init', '--base-url', sandbox.baseUrl, '--api-key', apiKey];
  expect((await run(folder, [...args, '--secret-file', 'secret'])).code).toBe(0);
  const written = parseEnv(readFileSync(path, 'utf8'));
  expect(written).toMatchObject({ WALLET_API_KEY: apiKey, WALLET_API_SECRET_FILE: secret });
  expect(readFileSync(path, 'utf8')).not.toContain(apiSecret);
  const other = [...args, '--out', 'other.env'];
  const env = { WALLET_API_SECRET: apiSecret, WALLET_API_SECRET_FILE: '' };
  rmSync(path);
  expect((await run(folder, other, { env })).code).toBe(0);
  expect(parseEnv(readFileSync(join(folder, 'other.env'), 'utf8'))).toMatchObject({
    WALLET_API_SECRET: apiSecret,
  });
}, 60_000);

test('a secret from stdin goes before a file that the environment names', async () => {
  const { sandbox, folder, apiSecret } = await begin();
  writeFileSync(join(folder, 'secret'), `${'ab'.repeat(32)}\n`, { mode: 0o600 });
  writeFileSync(join(folder, '.env'), 'WALLET_API_SECRET_FILE=secret\n', { mode: 0o600 });
  const args = ['init', '--base-url', sandbox.baseUrl, '--secret-stdin', '--out', 'second.env'];
  expect(await run(folder, args, { stdin: apiSecret })).toMatchObject({ code: 0, stderr: '' });
  const written = parseEnv(readFileSync(join(folder, 'second.env'), 'utf8'));
  expect(written).toMatchObject({ WALLET_API_SECRET: apiSecret });
}, 60_000);

test('nothing is overwritten, no link is followed, and then the service is not asked', async () => {
  const { sandbox, folder, path, apiSecret } = await begin();
  const args = ['init', '--base-url', sandbox.baseUrl, '--secret-stdin'];
  writeFileSync(path, '# mine\n', { mode: 0o600 });
  const exists = await run(folder, args, { stdin: apiSecret });
  expect([exists.code, readFileSync(path, 'utf8')]).toEqual([2, '# mine\n']);
  expect(exists.stderr).toContain('--out');
  const target = join(folder, 'target');
  symlinkSync(target, join(folder, 'link'));
  const linked = await run(folder, [...args, '--out', 'link'], { stdin: apiSecret });
  expect(linked.code).toBe(2);
  expect(() => statSync(target)).toThrow('ENOENT');
  const nowhere = await run(folder, [...args, '--out', 'none/x'], { stdin: apiSecret });
  expect([nowhere.code, nowhere.stderr]).toEqual([
    2,
    expect.stringMatching(
      /none\/x cannot be written \(there is no folder \S+none\); name a file in a folder/,
    ),
  ]);
  expect(sandbox.stats.nonces).toBe(0);
}, 60_000);

test('each failure has its exit code, and writes nothing', async () => {
  const { sandbox, folder, path, apiSecret } = await begin({ signer: 'params-hmac' });
  const url = ['init', '--base-url', sandbox.baseUrl];
  const silent = await run(folder, url);
  expect([silent.code, silent.stdout]).toEqual([2, '']);
  expect(silent.stderr).toContain('--secret-file');
  expect((await run(folder, [...url, '--secret', apiSecret])).code).toBe(2);
  const twice = await run(folder, [...url, '--secret-file', 'x', '--secret-stdin']);
  expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('cannot be used with')]);
  const stdin = apiSecret;
  const keyless = await run(folder, [...url, '--secret-stdin'], { stdin });
  expect([keyless.code, keyless.stderr]).toEqual([
    2,
    expect.stringMatching(
      /no signing recipe fits the secret \(WALLET_API_SECRET\): .*a shared secret needs its key/,
    ),
  ]);
  const refused = await run(folder, [...url, '--api-key', 'other', '--secret-stdin'], { stdin });
  expect(refused.code).toBe(4);
  expect(refused.stderr).toContain('refuses');
  const secure = ['init', '--base-url', sandbox.baseUrl.replace('http:', 'https:')];
  const unencrypted = await run(folder, [...secure, '--secret-stdin'], { stdin });
  expect([unencrypted.code, unencrypted.stderr]).toEqual([
    4,
    expect.stringContaining('is not encrypted, as if it were http;'),
  ]);
  const away = ['init', '--base-url', 'http://127.0.0.1:1', '--api-key', 'x', '--secret-stdin'];
  expect((await run(folder, away, { stdin })).code).toBe(4);
  expect(
    (
      await run(folder, ['init', '--base-url', 'http://wallet.example', '--secret-stdin'], {
        stdin,
      })
    ).code,
  ).toBe(2);
  const plain = { env: { WALLET_PLAIN_HTTP_HOST: 'wallet.invalid' }, stdin };
  const trusted = ['init', '--base-url', 'http://wallet.invalid', '--secret-stdin'];
  expect((await run(folder, trusted, plain)).code).toBe(4);
  expect(() => statSync(path)).toThrow('ENOENT');
}, 60_000);

test('a key with the line ends of Windows is written with those of a file .env', async () => {
  const { sandbox, folder, path, apiSecret } = await begin({ signer: 'body-ed25519' });
  const der = Buffer.from(`302e020100300506032b657004220420${apiSecret}`, 'hex');
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const pem = String(key.export({ format: 'pem', type: 'pkcs8' }));
  const args = ['init', '--base-url', sandbox.baseUrl, '--secret-stdin'];
  const stdin = pem.replaceAll('\n', '\r\n');
  expect(await run(folder, args, { stdin })).toMatchObject({ code: 0, stderr: '' });
  expect(parseEnv(readFileSync(path, 'utf8'))).toMatchObject({ WALLET_API_SECRET: pem.trim() });
}, 60_000);

const script = programOnPath(['script']);

/** `init` on a terminal in this folder. */
function askOnTerminal(folder: string) {
  return spawn(script ?? 'script', ['-qec', '"$NODE" "$PROGRAM" init', '/dev/null'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      NODE: process.execPath,
      PROGRAM: program,
    },
  });
}

test.skipIf(!script)(
  'on a terminal it asks, and does not show the secret',
  async () => {
    const { sandbox, folder, path, apiKey, apiSecret } = await begin({ signer: 'params-hmac' });
    const terminal = askOnTerminal(folder);
    let shown = '';
    const answers: [string, string][] = [
      ['Address of the wallet service', sandbox.baseUrl],
      ['API key', apiKey],
      ['Private key or shared secret', apiSecret],
    ];
    terminal.stdout.on('data', (text) => {
      shown += text;
      const [next] = answers;
      if (next && shown.includes(next[0])) terminal.stdin.write(`${answers.shift()?.[1]}\r`);
    });
    const code = await new Promise((done) => terminal.on('close', done));
    expect([code, answers]).toEqual([0, []]);
    expect(shown).toContain('written');
    expect(shown).not.toContain(apiSecret);
    expect(parseEnv(readFileSync(path, 'utf8'))).toMatchObject({ WALLET_API_SECRET: apiSecret });
  },
  60_000,
);

test.skipIf(!script)(
  'answers that are pasted at once on a terminal are taken, and the secret is not shown',
  async () => {
    const { sandbox, folder, path, apiKey, apiSecret } = await begin({ signer: 'params-hmac' });
    const terminal = askOnTerminal(folder);
    let shown = '';
    let isPasted = false;
    terminal.stdout.on('data', (text) => {
      shown += text;
      if (isPasted || !shown.includes('Address of the wallet service')) return;
      isPasted = true;
      terminal.stdin.write(`${sandbox.baseUrl}\r${apiKey}\r${apiSecret}\r`);
    });
    expect(await new Promise((done) => terminal.on('close', done))).toBe(0);
    expect(shown).toContain(apiKey);
    expect(shown).not.toContain(apiSecret);
    expect(parseEnv(readFileSync(path, 'utf8'))).toMatchObject({ WALLET_API_SECRET: apiSecret });
  },
  60_000,
);
