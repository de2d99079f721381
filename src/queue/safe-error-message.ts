const messageLengthMax = 500;

/**
 * Returns the error's message in a form that the queue can store: PostgreSQL's text rejects NUL and its jsonb rejects
 * lone surrogates. A failure that cannot be stored makes the queue run the job again and again.
 */
export function safeErrorMessage(error: Error): string {
  const message = withoutParameters(error).message.slice(0, messageLengthMax);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not be stored.
  return message.replace(/[\u0000-\u001f\u007f]|[\ud800-\udfff]/gu, '\ufffd');
}

/** Returns the cause of a failed query, because the query's own message repeats the SQL and all its parameters. */
function withoutParameters(error: Error): Error {
  const isFailedQuery = 'query' in error && 'params' in error;
  return isFailedQuery && error.cause instanceof Error ? withoutParameters(error.cause) : error;
}
