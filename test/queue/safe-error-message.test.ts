import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { safeErrorMessage } from '../../src/queue/safe-error-message.ts';
import { forAllSync } from '../support/for-all.ts';

describe('the message of a failed job', () => {
  it('holds nothing that PostgreSQL refuses, and is short', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    forAllSync(
      text,
      fc.nat(20),
      fc.nat(0xffff),
    )(100, (part, repeats, code) => {
      const thrown = new Error(`${part.repeat(repeats)}${String.fromCharCode(code)}`);
      const message = safeErrorMessage(thrown);
      expect(message.length).toBeLessThanOrEqual(500);
      expect(message).not.toContain('\u0000');
      expect(Buffer.from(message, 'utf8').toString('utf8')).toBe(message);
    });
  });

  it('is the database’s own where a query failed, without its parameters', () => {
    const failed = Object.assign(
      new Error('Failed query: insert … params: secret', { cause: new Error('duplicate key') }),
      { query: 'insert …', params: ['secret'] },
    );
    expect(safeErrorMessage(failed)).toBe('duplicate key');
  });
});
