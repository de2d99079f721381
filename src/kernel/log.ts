/** Fields of a line. An `error` is always an object, so that a log system sees one type. */
type Fields = Record<string, unknown> & { error?: Error };
type Write = (fields: Fields, message: string) => void;

/** Logger interface of all folders; pino implements it, and only `cli` imports pino. */
export type Log = { debug: Write; info: Write; warn: Write; error: Write };

/** Logger that discards everything. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
