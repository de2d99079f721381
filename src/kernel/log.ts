type Write = (fields: Record<string, unknown>, message: string) => void;

/** What every room may ask of the logger; pino fits it, and only the cli knows pino. */
export type Log = { debug: Write; info: Write; warn: Write; error: Write };

/** For callers that nobody listens to. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
