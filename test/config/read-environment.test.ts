import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readEnvironment } from '../../src/config/read-environment.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'wallet-ledger-env-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
  vi.unstubAllEnvs();
});

test('the variables of the process go before those of the file', () => {
  writeFileSync(join(directory, '.env'), 'WALLET_PAGE_SIZE=5\nWALLET_TIMEOUT="1s"\n');
  vi.stubEnv('WALLET_PAGE_SIZE', '7');
  expect(readEnvironment(directory)).toMatchObject({ WALLET_PAGE_SIZE: '7', WALLET_TIMEOUT: '1s' });
});

test('a byte order mark belongs to no name', () => {
  writeFileSync(join(directory, '.env'), '\ufeffWALLET_PAGE_SIZE=5\r\nWALLET_TIMEOUT="1s"\r\n');
  expect(readEnvironment(directory)).toMatchObject({ WALLET_PAGE_SIZE: '5', WALLET_TIMEOUT: '1s' });
});

test('a file that is not there is no mistake, wherever that is, one that cannot be read is', () => {
  chmodSync(directory, 0o777);
  expect(readEnvironment(directory)['PATH']).toBe(process.env['PATH']);
  chmodSync(directory, 0o755);
  mkdirSync(join(directory, '.env'));
  expect(() => readEnvironment(directory)).toThrow(/\.env is not a file/);
});

test('a file that another user may write is not read, and the error names it and the cure', () => {
  const path = join(directory, '.env');
  writeFileSync(path, 'WALLET_SIGNER=./theirs.mjs\n');
  chmodSync(path, 0o666);
  expect(() => readEnvironment(directory)).toThrow(
    expect.objectContaining({
      code: 'settings',
      message: expect.stringContaining(path),
      cure: expect.stringContaining(`chmod go-w ${path}`),
    }),
  );
  chmodSync(path, 0o644);
  chmodSync(directory, 0o777);
  expect(() => readEnvironment(directory)).toThrow(`every user may write ${directory}`);
  chmodSync(directory, 0o755);
  expect(readEnvironment(directory)).toMatchObject({ WALLET_SIGNER: './theirs.mjs' });
});

test.runIf(process.getuid?.() === 0)('root does not read the file of another user', () => {
  const path = join(directory, '.env');
  writeFileSync(path, 'WALLET_SIGNER=./theirs.mjs\n');
  chownSync(path, 4242, 4242);
  expect(() => readEnvironment(directory)).toThrow(`${path} belongs to user 4242`);
});

test('a line that sets nothing is named by its number, not by its text', () => {
  const text =
    'A=1\r\n\nexport B = "two\nlines" # both\nWALLET_API_SECRET hunter2\n# C\nD=\n  E=\'x\' \n: nothing\n  # indented\n';
  writeFileSync(join(directory, '.env'), text);
  const read = () => readEnvironment(directory);
  expect(read).toThrow(expect.objectContaining({ code: 'settings', exitCode: 2 }));
  expect(read).toThrow(/ in lines 5, 9, 10$/);
});

test('every line that sets something is accepted', () => {
  const pem = '-----BEGIN PRIVATE KEY-----\nMC4CAQ+/=\n-----END PRIVATE KEY-----';
  const text = `A=it's # A\nKEY='${pem}'\nB="a # b" # c\nC=\`x\ny\`\n\n# D\nexport E=1`;
  writeFileSync(join(directory, '.env'), text);
  const set = { A: "it's", KEY: pem, B: 'a # b', C: 'x\ny', E: '1' };
  expect(readEnvironment(directory)).toMatchObject(set);
});

test('a value that would be cut at a # is refused, without showing it', () => {
  const cut = [
    'HTTP_TOKEN=tok#en',
    "A='x#y'",
    'export B = tok#en # both',
    'C=#tok',
    "D='tok#en",
    'hunter2',
  ];
  writeFileSync(join(directory, '.env'), cut.join('\r\n'));
  const read = () => readEnvironment(directory);
  expect(read).toThrow(
    expect.objectContaining({
      code: 'settings',
      message: expect.stringMatching(
        / has no NAME=value in line 6, and a value with # without quotes in lines 1, 3, 4, 5$/,
      ),
      cure: expect.stringContaining("NAME='…#…'"),
    }),
  );
  expect(read).not.toThrow(/tok|hunter2/);
});
