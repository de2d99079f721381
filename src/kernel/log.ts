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

/** Returns a logger that adds these fields to every line. */
export function withFields(log: Log, fields: Fields): Log {
  const add =
    (write: Write): Write =>
    (own, message) =>
      write({ ...fields, ...own }, message);
  return {
    debug: add((own, message) => log.debug(own, message)),
    info: add((own, message) => log.info(own, message)),
    warn: add((own, message) => log.warn(own, message)),
    error: add((own, message) => log.error(own, message)),
  };
}
