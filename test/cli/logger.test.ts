import { Writable } from 'node:stream';
import { DrizzleQueryError } from 'drizzle-orm/errors';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../src/cli/output/logger.ts';
import { LedgerError } from '../../src/kernel/errors.ts';
import { createRedactor } from '../../src/kernel/redact.ts';

const secret = 'canary-5ecret/1';

function capture(options: Partial<Parameters<typeof createLogger>[0]> & { isTTY?: boolean } = {}) {
  let text = '';
  const stream = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        text += chunk;
        done();
      },
    }),
    options.isTTY === undefined ? {} : { isTTY: options.isTTY },
  );
  const log = createLogger({
    level: 'info',
    format: 'json',
    redact: createRedactor([secret]),
    stream,
    ...options,
  });
  return { log, stream, text: () => text, json: () => JSON.parse(text) as Record<string, unknown> };
}

describe('createLogger', () => {
  test('writes one JSON object per line', () => {
    const { log, json } = capture();
    log.info({ port: 8080 }, 'listening');
    log.debug({}, 'unheard');
    expect(json()).toEqual({
      level: 'info',
      time: expect.stringMatching(/Z$/),
      port: 8080,
      msg: 'listening',
    });
  });

  test.each(['json', 'pretty'] as const)(
    '[S2] no secret passes, wherever it stands (%s)',
    (format) => {
      const { log, text } = capture({ format, level: 'debug' });
      const error = new Error(`inner ${secret}`, { cause: new Error(`cause ${secret}`) });
      log.error(
        { error, deep: { list: [secret, encodeURIComponent(secret)] }, [secret]: 1 },
        `message ${secret} ${Buffer.from(`me:${secret}`).toString('base64')}`,
      );
      expect(text()).toContain('[redacted]');
      expect(text()).not.toContain(secret);
      expect(text()).not.toContain(encodeURIComponent(secret));
      expect(text()).not.toContain(Buffer.from(`me:${secret}`).toString('base64').slice(4, 16));
    },
  );

  test('an error is its message, code, cure and cause, without a stack', () => {
    const { log, json } = capture();
    const cause = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' });
    log.error(
      { error: new LedgerError('database-unreachable', 'no database', { cause }) },
      'failed',
    );
    expect(json()['error']).toEqual({
      message: 'no database',
      code: 'database-unreachable',
      cure: expect.stringContaining('DATABASE_URL'),
      cause: { message: 'connect refused', code: 'ECONNREFUSED' },
    });
  });

  test('a stack is written at level debug only', () => {
    const { log, json } = capture({ level: 'debug' });
    log.error({ error: new Error('here') }, 'failed');
    expect(json()['error']).toMatchObject({ stack: expect.stringContaining('logger.test.ts') });
  });

  test('a failed query is what the database said: no SQL, no parameters', () => {
    const { log, text, json } = capture({ level: 'debug' });
    const said = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: 'Key (a)=(b)',
    });
    const query = new DrizzleQueryError('insert into hidden', ['hidden-parameter'], said);
    log.error({ error: new Error('page lost', { cause: query }) }, 'failed');
    expect(text()).not.toContain('hidden');
    expect(json()['error']).toMatchObject({ cause: { message: 'duplicate key', code: '23505' } });
  });

  test('without a format it is pretty on a terminal and json elsewhere', () => {
    const terminal = capture({ format: null, isTTY: true });
    terminal.log.info({ rows: 3 }, 'stored');
    expect(terminal.text()).toMatch(/INFO.*stored/);
    const file = capture({ format: null });
    file.log.info({ rows: 3 }, 'stored');
    expect(file.json()).toMatchObject({ rows: 3, msg: 'stored' });
  });

  test('control characters do not reach a terminal', () => {
    const { log, text } = capture({ format: 'pretty' });
    log.warn({ state: 'a\u001b[2Jb', path: 'c:\\u001b' }, 'said \u001b]0;x\u0007 \u202eevil\u009b');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    expect(text()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(text()).toContain('\\u001b[2Jb');
  });

  test('a line of JSON has no raw control character, and the same values', () => {
    const { log, text, json } = capture();
    log.warn({ state: 'a\u009b2Jb\u007f' }, 'said \u202eevil');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    expect(text()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(json()).toMatchObject({ state: 'a\u009b2Jb\u007f', msg: 'said \u202eevil' });
  });

  test('a closed stream does not end the process', () => {
    const { log, stream } = capture();
    stream.destroy(new Error('EPIPE'));
    log.info({}, 'nobody reads this');
  });
});

test('readable lines are coloured where the terminal has it, unless told otherwise', () => {
  const lines = [
    { isTTY: true },
    { isTTY: true, useColor: false },
    { isTTY: false, useColor: true },
  ].map((options) => {
    const terminal = capture({ format: 'pretty', ...options });
    terminal.log.info({}, 'hello');
    return terminal.text().includes('\u001b[');
  });
  expect(lines).toEqual([true, false, true]);
});
