import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPrivateFile, renderEnvFile } from '../../src/cli/env-file.ts';
import { LedgerError } from '../../src/kernel/errors.ts';
import { forAllSync } from '../support/for-all.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('what is written is read back as it was, or refused in words', () => {
  const value = fc.string({
    unit: fc.constantFrom('a', '1', ' ', '#', '=', '"', "'", '`', '\n', '\\', '$'),
  });
  forAllSync(value, value)(500, (one, other) => {
    const settings = { ONE: one, OTHER: other };
    let text: string;
    try {
      text = renderEnvFile(settings);
    } catch (error) {
      expect(error).toBeInstanceOf(LedgerError);
      return;
    }
    expect(parseEnv(text)).toEqual(settings);
  });
});

test('a key of several lines is kept', () => {
  const pem = '-----BEGIN PRIVATE KEY-----\nMC4CAQ+/=\n-----END PRIVATE KEY-----';
  expect(parseEnv(renderEnvFile({ WALLET_API_SECRET: pem }))).toEqual({ WALLET_API_SECRET: pem });
});

test('a private file is this user’s alone, and what appears in its place meanwhile is neither replaced nor followed', async () => {
  const folder = temporaryFolder();
  const [own, other, link, target] = ['own', 'other', 'link', 'target'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  await createPrivateFile(own, 'A=1\n');
  expect([statSync(own).mode & 0o777, readFileSync(own, 'utf8')]).toEqual([0o600, 'A=1\n']);
  writeFileSync(other, 'theirs');
  chmodSync(other, 0o666);
  symlinkSync(target, link);
  for (const path of [other, link])
    await expect(createPrivateFile(path, 'A=1\n')).rejects.toMatchObject({
      code: 'usage',
      message: `${path} exists, and nothing is overwritten`,
    });
  expect([readFileSync(other, 'utf8'), existsSync(target)]).toEqual(['theirs', false]);
});
