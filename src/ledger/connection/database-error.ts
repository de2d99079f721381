import { DrizzleQueryError } from 'drizzle-orm/errors';
import type pg from 'pg';
import { LedgerError } from '../../kernel/errors.ts';
import { isUnreachable, isUntrusted, sqlStateOf } from './postgres-codes.ts';
import { cureOf, untrusted } from './postgres-cures.ts';

/**
 * Converts a failure of the database to a LedgerError with the server's message, without the statement and its
 * parameters. Any other error stays as it is.
 */
export function databaseError(error: unknown): Error {
  if (error instanceof LedgerError || !(error instanceof Error)) return error as Error;
  const state = sqlStateOf(error);
  if (isUntrusted(error)) {
    const message = `the database failed: ${wordsOf(error)}`;
    return new LedgerError(untrusted.code, message, { cause: error, cure: untrusted.cure });
  }
  const isDown = isUnreachable(error);
  if (!isDown && state === undefined && !(error instanceof DrizzleQueryError)) return error;
  const { code = isDown ? 'database-unreachable' : 'unexpected', ...known } =
    cureOf(state ?? '') ?? {};
  // Raised by a function of the ledger, in a sentence of its own.
  if (code === 'usage' || code === 'database-moved') {
    const { message, hint } = innerOf(error) as pg.DatabaseError;
    return new LedgerError(code, message, { cause: error, ...known, ...(hint && { cure: hint }) });
  }
  return new LedgerError(code, `the database failed: ${wordsOf(error)}`, {
    cause: error,
    ...known,
  });
}

/** PostgreSQL quotes a value that it refuses, however long it is. */
const wordsMax = 1_000;

function wordsOf(error: Error): string {
  const inner = innerOf(error);
  const words =
    inner instanceof AggregateError
      ? inner.errors.map((each: Error) => each.message).join('; ')
      : inner.message;
  return words.length > wordsMax ? `${words.slice(0, wordsMax - 1)}…` : words;
}

function innerOf(error: Error): Error {
  return error.cause instanceof Error ? error.cause : error;
}
