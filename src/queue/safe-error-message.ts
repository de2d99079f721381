const messageLengthMax = 500;

/**
 * An error's message, fit for storing in the queue: PostgreSQL's text takes no NUL and its jsonb no lone
 * surrogate, and a failure that cannot be stored makes the queue run the job again and again.
 */
export function safeErrorMessage(error: Error): string {
  const message = withoutParameters(error).message.slice(0, messageLengthMax);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be stored.
  return message.replace(/[\u0000-\u001f\u007f]|[\ud800-\udfff]/gu, '\ufffd');
}

/** A failed query's own message repeats the SQL and all its parameters; what the database said is the cause. */
function withoutParameters(error: Error): Error {
  const isFailedQuery = 'query' in error && 'params' in error;
  return isFailedQuery && error.cause instanceof Error ? withoutParameters(error.cause) : error;
}
