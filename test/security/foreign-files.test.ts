import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { withService } from '../support/with-service.ts';

test('a signer that other users may write is not run, and the error names the cure', async () => {
  const { env } = await withService({ transactions: 10 });
  const home = temporaryFolder();
  const signer = join(home, 'signer.mjs');
  const marker = join(home, 'marker');
  writeFileSync(
    signer,
    `import { writeFileSync } from 'node:fs';
     writeFileSync(${JSON.stringify(marker)}, '');
     export default () => ({ apiKey: 'key', sign: () => ({ signature: 'none' }) });`,
  );
  chmodSync(signer, 0o666);
  for (const command of [['doctor'], ['sync', 'coins']]) {
    const { code, stdout, stderr } = await runProgram(command, { ...env, WALLET_SIGNER: signer });
    expect([command, code]).toEqual([command, 2]);
    expect(stdout + stderr).toContain(`every user may write ${signer}`);
    expect(stdout + stderr).toContain(`chmod go-w ${signer}`);
    expect(existsSync(marker)).toBe(false);
  }
  // Once it is this user's alone it runs: the test would see the marker.
  chmodSync(signer, 0o644);
  const { stdout } = await runProgram(['doctor'], { ...env, WALLET_SIGNER: signer });
  expect(existsSync(marker)).toBe(true);
  expect(stdout).toMatch(new RegExp(`good +settings-files: ${signer}`));
}, 60_000);

test('a secret from a file that other users may write is refused', async () => {
  const { env } = await withService({ transactions: 10 });
  const { WALLET_API_SECRET: secret = '', ...rest } = env;
  const path = join(temporaryFolder(), 'secret');
  writeFileSync(path, secret);
  chmodSync(path, 0o646);
  const withFile = { ...rest, WALLET_API_SECRET_FILE: path, LOG_LEVEL: 'debug' };
  const refused = await runProgram(['sync', 'coins'], withFile);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('WALLET_API_SECRET_FILE');
  expect(refused.stderr).toContain(`chmod go-w ${path}`);
  chmodSync(path, 0o400);
  const read = await runProgram(['sync', 'coins'], withFile);
  expect(read.code).toBe(0);
  expect(read.stderr).toContain(JSON.stringify({ files: [path] }).slice(1, -1));
}, 60_000);

test('a certificate that other users may write is not trusted, and one that is missing is named', async () => {
  const path = join(temporaryFolder(), 'authority.pem');
  const withAuthority = {
    DATABASE_URL: `postgres://me@db.example.com/ledger?sslmode=verify-full&sslrootcert=${path}`,
  };
  const missing = await runProgram(['status'], withAuthority);
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('ENOENT')]);
  writeFileSync(path, '-----BEGIN CERTIFICATE-----');
  chmodSync(path, 0o666);
  const refused = await runProgram(['status'], withAuthority);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/DATABASE_URL: the file .* is not read, .*chmod go-w/),
  ]);
}, 60_000);

test('a device or a directory in place of a file is refused, and nobody is told to change its rights', async () => {
  for (const path of ['/dev/null', tmpdir()]) {
    const env = { WALLET_BASE_URL: 'https://wallet.invalid/api', WALLET_API_SECRET_FILE: path };
    const { code, stderr } = await runProgram(['sync', 'coins'], env);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${path} is not a file`)]);
    expect(stderr).not.toContain('chmod');
  }
});

test('a list of handed-out addresses that other users may write is not read: it says whose an address is', async () => {
  const { env } = await withService({ transactions: 10 });
  expect((await runProgram(['sync', 'coins'], env)).code).toBe(0);
  const path = join(temporaryFolder(), 'handed-out.csv');
  writeFileSync(path, '60,0x52908400098527886E0F7030069857D2E4169EE7,customer-1\n');
  chmodSync(path, 0o666);
  const refused = await runProgram(['recover', '--handed-out', path], env);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining(`chmod go-w ${path}`),
  ]);
  chmodSync(path, 0o644);
  const { stderr } = await runProgram(['recover', '--handed-out', path], env);
  expect(stderr).not.toContain('chmod');
}, 90_000);
