import type { AddressPool, ParamNames } from './list-parsers.ts';
import type { SettingName, settingsTable } from './settings-table.ts';

type Table = typeof settingsTable;

/** Parsed value of each setting; null means absent without a default. */
export type SettingValues = {
  [Name in SettingName]:
    | NonNullable<Table[Name]['parser']['_zod']['output']>
    | Extract<Table[Name]['parser']['_zod']['output'], null>
    | (Table[Name]['default'] extends null ? null : never);
};

/** Settings for requests to the wallet service. */
export type ServiceSettings = {
  /** Base URL without a trailing slash. */
  baseUrl: string;
  apiSecret: string;
  apiKey: string | null;
  /** Name of a recipe, or path of a module. */
  signer: string;
  signHash: SettingValues['WALLET_SIGN_HASH'];
  signEncoding: SettingValues['WALLET_SIGN_ENCODING'];
  nonceUnit: SettingValues['WALLET_NONCE_UNIT'];
  paramNames: ParamNames;
  /** Requests per second over all processes; null means no limit. */
  maxRps: number | null;
  concurrency: number;
  timeoutMs: number;
};

/** All settings of the program, validated. Durations are in milliseconds; null means `off` or absent. */
export type Settings = {
  /** Null if the address, the secret, or the API key of an hmac signer is not set; see `needs` of parseSettings. */
  service: ServiceSettings | null;
  lists: { pageSize: number; order: SettingValues['WALLET_LIST_ORDER'] };
  /** State names in lower case. Every success state is also a final state. */
  states: { final: ReadonlySet<string>; success: ReadonlySet<string> };
  database: {
    /** Null means the embedded database. */
    url: string | null;
    dataDir: string;
    poolSize: number;
  };
  queue: {
    /** Null means a queue in PostgreSQL. */
    redisUrl: string | null;
    prefix: string;
  };
  /** Intervals of the jobs; null disables a job. */
  schedule: {
    transactionsEveryMs: number | null;
    detailsEveryMs: number | null;
    balancesEveryMs: number | null;
    coinsEveryMs: number | null;
    addressesEveryMs: number | null;
    poolsEveryMs: number | null;
    auditEveryMs: number | null;
    auditCycleMs: number;
  };
  pools: {
    chains: readonly AddressPool[];
    maxPerDay: number;
    settleMs: number;
    isExclusive: boolean;
    onMove: SettingValues['ON_MOVE'];
  };
  /** Null disables the status pages. */
  http: { host: string; port: number; token: string | null } | null;
  log: {
    level: SettingValues['LOG_LEVEL'];
    /** Null means pretty on a terminal and json elsewhere. */
    format: SettingValues['LOG_FORMAT'];
  };
  /** Paths of the files that secrets were read from, as given in the settings. */
  secretFiles: readonly string[];
  /** Texts that must never be printed; input of the redactor. */
  secrets: readonly string[];
  /** Warnings about variables that are named like settings and are not settings. */
  warnings: readonly string[];
};
