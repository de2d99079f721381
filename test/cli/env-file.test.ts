import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderEnvFile } from '../../src/cli/env-file.ts';
import { LedgerError } from '../../src/kernel/errors.ts';
import { forAllSync } from '../support/for-all.ts';

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
