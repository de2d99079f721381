import { DrizzleQueryError } from 'drizzle-orm/errors';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { failureLine, runCommand } from '../../src/cli/context/command-context.ts';
import { type ErrorCode, errorTable, LedgerError } from '../../src/kernel/errors.ts';
import { databaseError } from '../../src/ledger/connection/database-error.ts';

const codes = Object.keys(errorTable) as ErrorCode[];

test.each(codes)('a failure %s ends with what to do, in one line', (code) => {
  const line = failureLine(new LedgerError(code, 'GET /v1: said\nthis'), false);
  const [, cure = ''] = /^wallet-ledger: GET \/v1: said this; (.+)$/.exec(line) ?? [];
  // An instruction: it begins with a verb, and has more than one word.
  expect(cure).toMatch(/^(run|correct|check|compare|begin|open|lower|ask|wait|set|install) \S/);
  expect([1, 2, 3, 4, 5, 130]).toContain(errorTable[code].exitCode);
});

test('a failure of which nothing is known ends with what to do, too', () => {
  expect(failureLine(new TypeError('x is not a function'), false)).toBe(
    `wallet-ledger: x is not a function; ${errorTable.unexpected.cure}`,
  );
});

test.each(['ENOSPC', 'EDQUOT'])('a full disk (%s) is no bug of this program', (code) => {
  const error = Object.assign(new Error(`${code}: no space, write`), { code });
  expect(failureLine(error, false)).toBe(
    `wallet-ledger: ${code}: no space, write; free space where the output is written, then run the command again`,
  );
});

test('the stack is shown where it is wanted, and only there', () => {
  const error = new LedgerError('unexpected', 'broke', { cause: new Error('inner') });
  expect(failureLine(error, false)).not.toContain('failure-line.test.ts');
  const shown = failureLine(error, true);
  expect(shown.split('\n')[0]).toBe(failureLine(error, false));
  expect(shown.match(/failure-line\.test\.ts/g)?.length).toBeGreaterThanOrEqual(2);
});

test('a command that is interrupted ends with 130 also if its connections are cut', async () => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => written.mockRestore());
  const known = process.listeners('uncaughtException');
  const ended = await runCommand(
    async ({ shutdown }) => {
      process.emit('SIGINT', 'SIGINT');
      expect(shutdown.signal.aborted).toBe(true);
      throw new LedgerError('database-unreachable', 'Connection terminated unexpectedly');
    },
    { extraSettings: { LOG_LEVEL: 'error' } },
  );
  for (const listener of process.listeners('uncaughtException'))
    if (!known.includes(listener)) process.off('uncaughtException', listener);
  expect(written.mock.calls.flat().join('')).toMatch(/wallet-ledger: stopped by SIGINT; run/);
  expect(ended).toBe(130);
});

describe('databaseError', () => {
  const said = (code: string) => Object.assign(new Error('said so'), { code });

  test.each([
    ['28P01', 'database-unreachable', 'check user and password in DATABASE_URL'],
    ['3D000', 'database-unreachable', 'create the database'],
    ['42501', 'rights', 'run `wallet-ledger migrate` as the owner'],
    ['42P07', 'settings', 'another database'],
    ['42P01', 'unexpected', 'run `wallet-ledger migrate`'],
    ['53100', 'database-unreachable', 'free space on the disk'],
    ['53400', 'database-unreachable', 'raise the limit of PostgreSQL that the message names'],
    ['53300', 'database-unreachable', 'lower DATABASE_POOL_SIZE'],
    ['25P03', 'database-unreachable', 'check DATABASE_URL'],
    ['57P01', 'database-unreachable', 'check DATABASE_URL'],
    ['22012', 'unexpected', 'with LOG_LEVEL=debug'],
    ['EPIPE', 'database-unreachable', 'check DATABASE_URL'],
    ['CERT_HAS_EXPIRED', 'database-unreachable', 'certificate file'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'database-unreachable', 'certificate file'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'database-unreachable', 'certificate file'],
  ])('%s is %s: %s', (code, expected, cure) => {
    for (const error of [said(code), new DrizzleQueryError('hidden', ['hidden'], said(code))]) {
      const known = databaseError(error);
      expect(known).toMatchObject({ code: expected, message: 'the database failed: said so' });
      expect((known as LedgerError).cure).toContain(cure);
    }
  });

  test.each([
    ['correct the value', {}],
    ['name one', { hint: 'name one' }],
  ])(
    'what a function of the ledger refuses is a mistake of usage in its words: %s',
    (cure, more) => {
      const refused = Object.assign(said('22023'), more);
      for (const error of [refused, new DrizzleQueryError('hidden', ['hidden'], refused)])
        expect(databaseError(error)).toMatchObject({ code: 'usage', message: 'said so', cure });
    },
  );

  test('a session that cannot begin on a full disk is no bug of the program', () => {
    const message = 'could not write init file';
    const refused = Object.assign(new Error(message), { code: 'XX000' });
    expect(databaseError(refused)).toMatchObject({
      code: 'database-unreachable',
      cure: 'free space on the disk of PostgreSQL',
    });
    const other = databaseError(Object.assign(new Error('cache lookup failed'), { code: 'XX000' }));
    expect(other).toMatchObject({ code: 'unexpected' });
  });

  test('a move is reported in the words of the function that notices it', () => {
    const moved = databaseError(said('WL001'));
    expect(moved).toMatchObject({ code: 'database-moved', message: 'said so' });
  });

  test('what the database has no part in stays as it is', () => {
    const error = Object.assign(new Error('not permitted'), { code: 'EPERM' });
    expect(databaseError(error)).toBe(error);
  });
});
