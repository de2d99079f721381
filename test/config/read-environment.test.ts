import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

test('a file that is not there is no mistake, one that cannot be read is', () => {
  expect(readEnvironment(directory)['PATH']).toBe(process.env['PATH']);
  mkdirSync(join(directory, '.env'));
  expect(() => readEnvironment(directory)).toThrow(/\.env cannot be read \(EISDIR\)/);
});
