import type { AddressPool, ParamNames } from './list-parsers.ts';
import type { SettingName, settingsTable } from './settings-table.ts';

type Table = typeof settingsTable;

/** What each setting's text turns into; null stands for an absent one without a default. */
export type SettingValues = {
  [Name in SettingName]:
    | NonNullable<Table[Name]['parser']['_zod']['output']>
    | Extract<Table[Name]['parser']['_zod']['output'], null>
    | (Table[Name]['default'] extends null ? null : never);
};

/** What speaking to the wallet service takes. */
export type ServiceSettings = {
  /** Without a slash at the end. */
  baseUrl: string;
  apiSecret: string;
  apiKey: string | null;
  /** Name of a recipe, or path of a module. */
  signer: string;
  signHash: SettingValues['WALLET_SIGN_HASH'];
  signEncoding: SettingValues['WALLET_SIGN_ENCODING'];
  nonceUnit: SettingValues['WALLET_NONCE_UNIT'];
  paramNames: ParamNames;
  /** Null: no limit. */
  maxRps: number | null;
  concurrency: number;
  timeoutMs: number;
};

/** All settings of the program, checked. Durations are milliseconds; null stands for `off` or absent. */
export type Settings = {
  /** Null where the address or the secret is not set; see `needs` of parseSettings. */
  service: ServiceSettings | null;
  lists: { pageSize: number; order: SettingValues['WALLET_LIST_ORDER'] };
  /** In lower case. Every success state is a final state. */
  states: { final: ReadonlySet<string>; success: ReadonlySet<string> };
  database: {
    /** Null: the embedded one. */
    url: string | null;
    dataDir: string;
    poolSize: number;
  };
  queue: {
    /** Null: the queue lives in PostgreSQL. */
    redisUrl: string | null;
    prefix: string;
  };
  /** Null switches the job off. */
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
  /** Null: no status pages. */
  http: { host: string; port: number; token: string | null } | null;
  log: {
    level: SettingValues['LOG_LEVEL'];
    /** Null: pretty on a terminal, else json. */
    format: SettingValues['LOG_FORMAT'];
  };
  /** Files that secrets were read from, as the settings name them. */
  secretFiles: readonly string[];
  /** What must never be printed: for the redactor. */
  secrets: readonly string[];
  /** Names that look like settings of ours and are none. */
  warnings: readonly string[];
};
