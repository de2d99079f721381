import { LedgerError, toError } from '../../kernel/errors.ts';

/** Fields of a failure that may be shown: no SQL, no parameters, no rows. */
export type ErrorDescription = {
  message: string;
  /** Code of a LedgerError or of Node, or the SQLSTATE of PostgreSQL. */
  code?: string;
  cure?: string;
  cause?: ErrorDescription;
  stack?: string;
};

const causesMax = 5;

/** Describes a thrown value and up to five of its causes as fields that may be shown, optionally with stack traces. */
export function describeError(
  thrown: unknown,
  options: { withStack: boolean },
  depth = 0,
): ErrorDescription {
  const error = shownError(toError(thrown));
  const { code } = error as { code?: unknown };
  const cause = depth < causesMax && error.cause instanceof Error ? error.cause : null;
  return {
    message: error.message,
    ...(typeof code === 'string' && { code }),
    ...(error instanceof LedgerError && { cure: error.cure }),
    ...(cause && { cause: describeError(cause, options, depth + 1) }),
    ...(options.withStack && error.stack && { stack: error.stack }),
  };
}

/**
 * Skips Drizzle's error of a failed query, which repeats the SQL and every parameter. Its cause is the database's
 * error.
 */
function shownError(error: Error): Error {
  if (!('query' in error && 'params' in error)) return error;
  return error.cause instanceof Error ? shownError(error.cause) : new Error('a query failed');
}
