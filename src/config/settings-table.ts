import { databaseUrl, redisUrl } from './link-parsers.ts';
import { addressPools, paramNames } from './list-parsers.ts';
import {
  duration,
  headerText,
  integer,
  oneOf,
  orOff,
  parsed,
  plainText,
  requestRate,
  type SettingParser,
  stateSet,
} from './setting-parsers.ts';
import { serviceBaseUrl } from './url-parsers.ts';

/** One row of the settings table, from which parsing, defaults, `.env.example` and docs/settings.md are derived. */
export type Setting = {
  /** Meaning of the value, in one line. */
  help: string;
  /** Text used when none is given; null means that the value is null too. */
  default: string | null;
  parser: SettingParser<unknown>;
  /** Marks a secret: never printed, and readable from the file that NAME_FILE names. */
  isSecret?: true;
  /** Marks a setting that every request to the service needs. */
  isRequired?: true;
};

const recipeNames = [
  'params-secp256k1',
  'body-secp256k1',
  'body-ed25519',
  'concat-ecdsa',
  'params-hmac',
  'body-hmac',
] as const;

/** Returns true if WALLET_SIGNER names a recipe; otherwise it is the path of a module. */
export function isSigningRecipe(signer: string): boolean {
  return recipeNames.some((name) => name === signer);
}

const successStates = 'success,succeeded,successful,complete,completed,done,finished,confirmed';
const failureStates =
  'fail,failed,failure,reject,rejected,cancel,cancelled,canceled,refunded,expired,reverted,dropped';
const yearMs = 365 * 86_400_000;

const signerName = parsed(
  `${recipeNames.join(', ')}, or the path of a module (./my-signer.mjs)`,
  (text) => (isSigningRecipe(text) || /\/|\.[cm]?js$|\.ts$/.test(text) ? text : undefined),
);
const queuePrefix = parsed('letters, digits, - and _', (text) =>
  /^[\w-]{1,100}$/.test(text) ? text : undefined,
);
const hostName = parsed('a host name or an IP address', (text) =>
  /^[\w.:[\]-]+$/.test(text) ? text.replace(/^\[|\]$/g, '') : undefined,
);

function every(help: string, text: string) {
  return { help: `${help}; off switches it off`, default: text, parser: orOff(duration()) };
}

export const settingsTable = {
  WALLET_BASE_URL: {
    help: '{base_url} of the wallet service: https, or http on a loopback address only',
    default: null,
    parser: serviceBaseUrl,
    isRequired: true,
  },
  WALLET_API_SECRET: {
    help: 'Private key (hex, PEM or DER hex); for the hmac signers the shared secret as text',
    default: null,
    parser: plainText,
    isSecret: true,
    isRequired: true,
  },
  WALLET_API_KEY: {
    help: 'Value of BIZ-API-KEY; derived from the private key where absent, required for the hmac signers',
    default: null,
    parser: headerText,
    isSecret: true,
  },
  WALLET_SIGNER: {
    help: `How requests are signed: ${recipeNames.join(', ')}, or the path of a module that default-exports a signer`,
    default: 'params-secp256k1',
    parser: signerName,
  },
  WALLET_SIGN_HASH: {
    help: "sha256 or sha256d; the signer's own where absent",
    default: null,
    parser: oneOf('sha256', 'sha256d'),
  },
  WALLET_SIGN_ENCODING: {
    help: "der-hex, raw-hex, der-base64 or raw-base64; the signer's own where absent",
    default: null,
    parser: oneOf('der-hex', 'raw-hex', 'der-base64', 'raw-base64'),
  },
  WALLET_NONCE_UNIT: {
    help: 'Unit of the nonce: ms or us',
    default: 'ms',
    parser: oneOf('ms', 'us'),
  },
  WALLET_PARAM_NAMES: {
    help: "The service's names of the query parameters; what is not named keeps its default",
    default: 'page=pageNo,size=pageSize,chain=slip44,type=type',
    parser: paramNames,
  },
  WALLET_PAGE_SIZE: {
    help: 'Rows a page to ask for; a smaller page is accepted and remembered, a refused size is halved, down to 10',
    default: '100',
    parser: integer(1, 1000),
  },
  WALLET_LIST_ORDER: {
    help: 'Order of the transaction list: auto (learned from the answers), newest-first, oldest-first or unordered',
    default: 'auto',
    parser: oneOf('auto', 'newest-first', 'oldest-first', 'unordered'),
  },
  WALLET_FINAL_STATES: {
    help: 'States after which a transaction is not expected to change; case does not matter',
    default: `${successStates},${failureStates}`,
    parser: stateSet,
  },
  WALLET_SUCCESS_STATES: {
    help: 'Those of the final states that moved money; the view reconciliation counts them',
    default: successStates,
    parser: stateSet,
  },
  WALLET_MAX_RPS: {
    help: 'Requests a second to the service, over all processes together; off lifts the limit',
    default: '10',
    parser: orOff(requestRate),
  },
  WALLET_CONCURRENCY: {
    help: 'Requests in flight per process',
    default: '8',
    parser: integer(1, 1000),
  },
  WALLET_TIMEOUT: {
    help: 'Time limit of one attempt',
    default: '15s',
    parser: duration({ maxMs: 86_400_000 }),
  },
  DATABASE_URL: {
    help: 'PostgreSQL 15 or later, postgres://…, on another machine with ?sslmode=verify-full; without it an embedded one runs in LEDGER_DATA_DIR',
    default: null,
    parser: databaseUrl,
    isSecret: true,
  },
  LEDGER_DATA_DIR: {
    help: "Directory of the embedded database's files; commands that run at once share its server",
    default: '.wallet-ledger',
    parser: plainText,
  },
  DATABASE_POOL_SIZE: {
    help: 'Database connections per process',
    default: '10',
    parser: integer(1, 1000),
  },
  REDIS_URL: {
    help: 'Redis of the queue, redis://, on another machine rediss://; without it the queue lives in PostgreSQL',
    default: null,
    parser: redisUrl,
    isSecret: true,
  },
  QUEUE_PREFIX: {
    help: "Name that sets this installation's queues apart from others",
    default: 'wallet-ledger',
    parser: queuePrefix,
  },
  SYNC_TRANSACTIONS_EVERY: every('How often the transaction lists are read', '15s'),
  SYNC_DETAILS_EVERY: every('How often details of incomplete rows are fetched', '10s'),
  SYNC_BALANCES_EVERY: every('How often balances are read', '1m'),
  SYNC_COINS_EVERY: every('How often coins are read', '1h'),
  SYNC_ADDRESSES_EVERY: every('How often address lists are read', '10m'),
  FILL_POOLS_EVERY: every('How often the address pools are looked at', '1m'),
  AUDIT_EVERY: every('How often the audit reads on', '1h'),
  AUDIT_CYCLE: {
    help: 'Within this time the audit has read the whole history again, as far as the budget allows',
    default: '7d',
    parser: duration({ maxMs: yearMs }),
  },
  ADDRESS_POOLS: {
    help: 'slip44:threshold:target with commas between: below threshold, generate up to target',
    default: null,
    parser: addressPools,
  },
  POOL_MAX_PER_DAY: {
    help: 'Addresses generated per chain in 24 hours at the most',
    default: '10000',
    parser: integer(0, 10_000_000),
  },
  POOL_SETTLE: {
    help: 'After an address request with a lost answer: pause before the address list is read again and believed',
    default: '10s',
    parser: duration({ minMs: 0, maxMs: 86_400_000 }),
  },
  POOL_EXCLUSIVE: {
    help: 'true: nobody else generates addresses with this key, so a foreign one is a sign that the database went back',
    default: 'false',
    parser: oneOf('true', 'false'),
  },
  ON_MOVE: {
    help: 'After a restore or failover: heal (available addresses become foreign, pools refill) or stop (until `recover`)',
    default: 'heal',
    parser: oneOf('heal', 'stop'),
  },
  HTTP_HOST: {
    help: 'Address of the status pages; off loopback HTTP_TOKEN is required, of at least 16 characters',
    default: '127.0.0.1',
    parser: hostName,
  },
  HTTP_PORT: {
    help: 'Port of the status pages; 0 picks a free one, off disables them',
    default: '8080',
    parser: orOff(integer(0, 65_535)),
  },
  HTTP_TOKEN: {
    help: 'Bearer token, or password of Basic, for everything but /healthz and /readyz',
    default: null,
    parser: headerText,
    isSecret: true,
  },
  LOG_LEVEL: {
    help: 'debug, info, warn, error or silent',
    default: 'info',
    parser: oneOf('debug', 'info', 'warn', 'error', 'silent'),
  },
  LOG_FORMAT: {
    help: 'pretty or json; where absent, pretty on a terminal and json elsewhere',
    default: null,
    parser: oneOf('pretty', 'json'),
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settingsTable;
