import { LedgerError, toError } from '../kernel/errors.ts';

/** What may be shown of a failure: no SQL, no parameters, no rows. */
export type ErrorDescription = {
  message: string;
  /** Ours, or that of Node, or the SQLSTATE of PostgreSQL. */
  code?: string;
  cure?: string;
  cause?: ErrorDescription;
  stack?: string;
};

const causesMax = 5;

/** Anything thrown, with its causes, as fields that may be shown; with stack traces where they are wanted. */
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

/** Drizzle's error of a failed query repeats the SQL and every parameter; what the database said is its cause. */
function shownError(error: Error): Error {
  if (!('query' in error && 'params' in error)) return error;
  return error.cause instanceof Error ? shownError(error.cause) : new Error('a query failed');
}
