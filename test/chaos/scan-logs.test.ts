import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { scanLogs } from './scan-logs.ts';

const key = 'c0ffee00'.repeat(8);
const password = 'pa+ss/word?é';

async function scan(text: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'scan-logs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'a.log');
  writeFileSync(file, text);
  const findings = await scanLogs([file], { key, password });
  return findings.map(({ line, what }) => `${line}: ${what}`);
}

test.each([
  ['as it is', key],
  ['in upper case', key.toUpperCase()],
  ['as base64 of its bytes', Buffer.from(key, 'hex').toString('base64')],
  ['as base64 of its text', Buffer.from(key).toString('base64')],
  ['as base64 for addresses', Buffer.from(key, 'hex').toString('base64url')],
])('a key is found %s', async (_how, shape) => {
  expect(await scan(`fine\n{"msg":"x ${shape} y"}\nfine\n`)).toEqual(['2: key shown']);
});

test('a password is found in plain form and inside an URL', async () => {
  expect(await scan(`${password}\n`)).toEqual(['1: password shown']);
  expect(await scan(`postgres://me:${encodeURIComponent(password)}@host/db\n`)).toEqual([
    '1: password shown',
  ]);
});

test('uncaught errors are found, and failed jobs are not counted as such', async () => {
  expect(
    await scan(
      'node:internal/process/promises:394\n{"level":"warn","msg":"job failed: connect ECONNREFUSED"}\nTypeError: x is not a function\n',
    ),
  ).toEqual([
    '1: crash: node:internal/process/promises:394',
    '3: crash: TypeError: x is not a function',
  ]);
});
