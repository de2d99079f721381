/**
 * Table of all failures of the program: exit code (see docs/operations.md), whether a retry can help, and the action
 * for the operator.
 */
export const errorTable = {
  usage: { exitCode: 2, isRetryable: false, cure: 'run the command with --help' },
  settings: {
    exitCode: 2,
    isRetryable: false,
    cure: 'correct it in the environment, the file .env or the file that it names; `wallet-ledger doctor` checks all settings',
  },
  'service-unreachable': {
    exitCode: 4,
    isRetryable: true,
    cure: 'check WALLET_BASE_URL and the network, then run the command again: it resumes',
  },
  'service-rate-limited': {
    exitCode: 4,
    isRetryable: true,
    cure: 'lower WALLET_MAX_RPS, then run the command again: it resumes',
  },
  'service-authentication': {
    exitCode: 4,
    isRetryable: false,
    cure: 'check WALLET_API_SECRET, WALLET_API_KEY, WALLET_SIGNER and the clock',
  },
  'service-nonce': {
    exitCode: 4,
    isRetryable: true,
    cure: 'set the clock (NTP) and WALLET_NONCE_UNIT, and let no program outside this ledger use the key; WALLET_CONCURRENCY=1 keeps requests from overtaking one another',
  },
  'service-refused': {
    exitCode: 4,
    isRetryable: false,
    cure: 'ask the operator of the service about this answer: its settings and rights decide',
  },
  'service-unsettled': {
    exitCode: 4,
    isRetryable: true,
    cure: 'wait until the service works again, then run the command again: it resumes; if it has never worked, run `wallet-ledger doctor`, which checks WALLET_PARAM_NAMES',
  },
  'service-malformed': {
    exitCode: 4,
    isRetryable: true,
    cure: 'check that WALLET_BASE_URL is the service itself; run the command again: it resumes',
  },
  'service-parameters': {
    exitCode: 4,
    isRetryable: false,
    cure: 'set WALLET_PARAM_NAMES to the names that the service expects',
  },
  'database-unreachable': {
    exitCode: 5,
    isRetryable: true,
    cure: 'check DATABASE_URL and that PostgreSQL runs',
  },
  'queue-unreachable': {
    exitCode: 5,
    isRetryable: true,
    cure: 'check REDIS_URL, that Redis runs, and that it lets this machine in (bind, protected-mode)',
  },
  'database-moved': {
    exitCode: 3,
    isRetryable: false,
    cure: 'run `wallet-ledger recover`: it shows what was found and what to do',
  },
  'schema-older': {
    exitCode: 5,
    isRetryable: false,
    cure: 'run `wallet-ledger migrate`',
  },
  'schema-newer': {
    exitCode: 5,
    isRetryable: false,
    cure: 'install the version of wallet-ledger that migrated this database, or a later one',
  },
  'earlier-version': {
    exitCode: 1,
    isRetryable: true,
    cure: 'wait until the daemons and commands of the earlier version have ended, then run the command again',
  },
  rights: {
    exitCode: 2,
    isRetryable: false,
    cure: 'run `wallet-ledger migrate` as the owner of the schema ledger, and grant this role its rights',
  },
  'port-in-use': {
    exitCode: 1,
    isRetryable: true,
    cure: 'set another port, or end the program that uses it',
  },
  'position-ahead': {
    exitCode: 3,
    isRetryable: false,
    cure: 'compare your books with the tables of ledger, then go on behind ledger.events_head(): see docs/applications.md',
  },
  'events-deleted': {
    exitCode: 3,
    isRetryable: false,
    cure: 'begin with the tables and ledger.events_head() of one repeatable-read transaction: see docs/applications.md',
  },
  'timed-out': { exitCode: 3, isRetryable: true, cure: 'wait again: nothing was lost meanwhile' },
  closed: { exitCode: 1, isRetryable: false, cure: 'open the ledger again with openLedger()' },
  interrupted: { exitCode: 130, isRetryable: true, cure: 'run the command again: it resumes' },
  unexpected: {
    exitCode: 1,
    isRetryable: false,
    cure: 'run the command with LOG_LEVEL=debug and report the stack trace; it is probably a bug in this program',
  },
} as const satisfies Record<string, { exitCode: number; isRetryable: boolean; cure: string }>;

export type ErrorCode = keyof typeof errorTable;

/**
 * The only error class of the program. The message describes the failure and its place; `cure` is the action for the
 * operator.
 */
export class LedgerError extends Error {
  readonly code: ErrorCode;
  readonly exitCode: number;
  readonly isRetryable: boolean;
  readonly cure: string;
  /** The service answered with a failure of its own, such as HTTP 500: its other requests may succeed. */
  readonly isAnswered: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; cure?: string; exitCode?: number; isAnswered?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'LedgerError';
    this.code = code;
    const entry = errorTable[code];
    this.exitCode = options.exitCode ?? entry.exitCode;
    this.isRetryable = entry.isRetryable;
    this.cure = options.cure ?? entry.cure;
    this.isAnswered = options.isAnswered ?? false;
  }
}

/** Failures that may concern one request, or one row of its answer. */
const requestCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'service-malformed',
  'service-refused',
  'service-unsettled',
]);

/** Returns true if the service answered, and other requests may succeed although this one failed. */
export function isOfRequest(error: unknown): error is LedgerError {
  return error instanceof LedgerError && (error.isAnswered || requestCodes.has(error.code));
}

/** Wraps a thrown value in an Error unless it is one. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
}
