/** SQLSTATEs that the program tells apart. */
const sqlState = {
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  lockNotAvailable: '55P03',
  insufficientPrivilege: '42501',
  reservedName: '42939',
} as const;

/** WL is this program's own class. Node's own codes, EPIPE say, can be as long. */
const sqlStateForm = /^(\d[0-9A-Z]|F0|HV|P0|WL|XX)[0-9A-Z]{3}$/;

/** The SQLSTATE of a failure, looked up through Drizzle's wrapper; undefined when PostgreSQL did not speak. */
export function sqlStateOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as { code?: unknown }).code;
    if (typeof code === 'string' && sqlStateForm.test(code)) return code;
  }
  return undefined;
}

/** Whether the data itself was refused (class 22: data exception; 23: constraint), so that another try cannot help. */
export function isDataError(error: unknown): boolean {
  return /^2[23]/.test(sqlStateOf(error) ?? '');
}

/** Whether the statement lost against another one and is to be run again as it is. */
export function isConflict(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code === sqlState.serializationFailure || code === sqlState.deadlockDetected;
}

/** Whether the connection broke on the way: the server may well answer on another one. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return /^(08|57P01|25P03)/.test(state);
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as { code?: unknown }).code;
    if (code === 'ECONNRESET' || code === 'EPIPE') return true;
    if (/^(Connection terminated|Client has encountered)/.test(cause.message)) return true;
  }
  return false;
}

/** Whether a lock was not free in time. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.lockNotAvailable;
}

/** Whether the role of the connection lacks a right. */
export function isForbidden(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.insufficientPrivilege;
}

/** Whether a name is one that PostgreSQL keeps for itself. */
export function isReservedName(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.reservedName;
}

/** Node's codes for a connection that could not be made or broke. */
const socketCode = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_)/;
/** Node's codes for a certificate that it does not accept. */
const certificateCode = /^(UNABLE_TO_(GET|VERIFY)|DEPTH_ZERO|SELF_SIGNED|CERT_|ERR_TLS_CERT)/;
/** pg's own failures carry no code at all. */
const driverMessage =
  /^(Connection terminated|timeout (exceeded|expired)|Client has encountered|Query read timeout)/;

/**
 * Whether the connection or the server is to blame: a socket error, class 08 (connection), 25P03 (it stood still in a
 * transaction), 53 (resources), 57 (operator intervention, shutdown), 58 (system error), or a lock that was not free
 * in time.
 */
export function isUnreachable(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined)
    return /^(08|25P03|53|57|58)/.test(state) || state === sqlState.lockNotAvailable;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof AggregateError) return cause.errors.some(isUnreachable);
    const code = (cause as { code?: unknown }).code;
    if (typeof code === 'string' && socketCode.test(code)) return true;
    if (driverMessage.test(cause.message)) return true;
  }
  return false;
}

/** Whether the server could not be spoken to as safely as the connection string asks for. */
export function isUntrusted(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as { code?: unknown }).code;
    if (typeof code === 'string' && certificateCode.test(code)) return true;
    if (cause.message === 'The server does not support SSL connections') return true;
  }
  return false;
}
