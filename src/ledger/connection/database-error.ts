import { DrizzleQueryError } from 'drizzle-orm/errors';
import type pg from 'pg';
import { LedgerError } from '../../kernel/errors.ts';
import {
  isForbidden,
  isOfPooler,
  isUnreachable,
  isUntrusted,
  sqlStateOf,
} from './postgres-codes.ts';
import {
  cureOf,
  type PostgresCure,
  pooled,
  readOnly,
  untrusted,
  withoutCreate,
} from './postgres-cures.ts';

/**
 * Converts a failure of the database to a LedgerError with the server's message, without the statement and its
 * parameters. Any other error stays as it is.
 */
export function databaseError(error: unknown): Error {
  if (error instanceof LedgerError || !(error instanceof Error)) return error as Error;
  const state = sqlStateOf(error);
  const refusal = refusalOf(error);
  if (refusal) {
    const message = `the database failed: ${wordsOf(error)}`;
    return new LedgerError(refusal.code, message, { cause: error, cure: refusal.cure });
  }
  const isDown = isUnreachable(error);
  if (!isDown && state === undefined && !(error instanceof DrizzleQueryError)) return error;
  const { code = isDown ? 'database-unreachable' : 'unexpected', ...known } =
    cureOf(state ?? '') ?? {};
  // A function of the ledger raised it, with a message of its own.
  if (code === 'usage' || code === 'database-moved') {
    const { message, hint } = innerOf(error) as pg.DatabaseError;
    return new LedgerError(code, message, { cause: error, ...known, ...(hint && { cure: hint }) });
  }
  return new LedgerError(code, `the database failed: ${wordsOf(error)}`, {
    cause: error,
    ...known,
  });
}

/** Returns the advice about a failure that only its message identifies, because it has no SQLSTATE. */
function refusalOf(error: Error): PostgresCure | undefined {
  if (isUntrusted(error)) return untrusted;
  if (isOfPooler(error)) return pooled;
  if (lacksCreate(error)) return withoutCreate;
  // Message for an unlogged table on a standby; its SQLSTATE, feature_not_supported, stands for many other failures.
  return innerOf(error).message.endsWith('during recovery') ? readOnly : undefined;
}

/**
 * Returns true if the role may not create a schema or an extension. Without a known statement only the message shows
 * it, and only if the server's messages are in English. A refused connection has the same message, but with a detail.
 */
function lacksCreate(error: Error): boolean {
  if (!isForbidden(error)) return false;
  if (error instanceof DrizzleQueryError)
    return /^\s*create\s+(schema|extension)\b/i.test(error.query);
  const { message, detail }: Error & { detail?: string } = innerOf(error);
  return message.startsWith('permission denied for database ') && detail === undefined;
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
