import { knownState } from '../../kernel/postgres-resources.ts';

/** SQLSTATEs that the program distinguishes. */
const sqlState = {
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  uniqueViolation: '23505',
  lockNotAvailable: '55P03',
  insufficientPrivilege: '42501',
  reservedName: '42939',
  transactionAborted: '25P02',
  readOnlyTransaction: '25006',
} as const;

/** Form of a SQLSTATE; WL is this program's own class. Node's own codes, such as EPIPE, can have the same length. */
const sqlStateForm = /^(\d[0-9A-Z]|F0|HV|P0|WL|XX)[0-9A-Z]{3}$/;

/**
 * Returns the SQLSTATE of a failure, also from inside Drizzle's wrapper; undefined if the error is not PostgreSQL's.
 */
export function sqlStateOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as { code?: unknown }).code;
    if (typeof code === 'string' && sqlStateForm.test(code)) return knownState(code, cause.message);
  }
  return undefined;
}

/**
 * Returns whether PostgreSQL refused the data itself (class 22: data exception; 23: constraint). A retry cannot help
 * then.
 */
export function isDataError(error: unknown): boolean {
  return /^2[23]/.test(sqlStateOf(error) ?? '');
}

/** Returns true if the statement lost a conflict with another one, so that a retry can help. */
export function isConflict(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code === sqlState.serializationFailure || code === sqlState.deadlockDetected;
}

/** Returns true if another row has the key already. */
export function isKeyTaken(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.uniqueViolation;
}

/** Returns true if the connection broke; the server may well answer on a new connection. */
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

/** Returns true if an earlier statement of the transaction failed, so that PostgreSQL runs no further one. */
export function isTransactionAborted(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.transactionAborted;
}

/** Returns true if PostgreSQL refused a write because the transaction is read-only. */
export function isReadOnlyRefusal(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.readOnlyTransaction;
}

export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.lockNotAvailable;
}

/** Returns true if the role of the connection lacks a right. */
export function isForbidden(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.insufficientPrivilege;
}

/** Returns true if the error is about a name that PostgreSQL reserves for itself. */
export function isReservedName(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.reservedName;
}

/** Node's codes for a connection that failed or broke. */
const socketCode = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_)/;
/** Node's codes for a certificate that it does not accept. */
const certificateCode = /^(UNABLE_TO_(GET|VERIFY)|DEPTH_ZERO|SELF_SIGNED|CERT_|ERR_TLS_CERT)/;
/** Messages of pg's own failures, which carry no code. */
const driverMessage =
  /^(Connection terminated|timeout (exceeded|expired)|Client has encountered|Query read timeout|received invalid response|There was an error establishing an SSL)/;

/**
 * Returns whether the connection or the server is at fault: a socket error, a lock timeout, or one of these SQLSTATEs.
 * 08: connection; 25P03: idle in a transaction; 53: resources; 57: operator intervention, shutdown; 58: system error.
 */
export function isUnreachable(error: unknown): boolean {
  if (isOfPooler(error)) return false;
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

/** Returns true if a connection pooler refuses the options of a session. */
export function isOfPooler(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause.message.startsWith('unsupported startup parameter')) return true;
  return false;
}

/** Returns whether the server cannot offer the security that the connection string requires. */
export function isUntrusted(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as { code?: unknown }).code;
    if (typeof code === 'string' && certificateCode.test(code)) return true;
    if (cause.message === 'The server does not support SSL connections') return true;
  }
  return false;
}
