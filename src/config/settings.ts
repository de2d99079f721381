import type { settingsTable } from './settings-table.ts';
import type { WebhookSettings } from './webhook-settings.ts';

type Table = typeof settingsTable;
export type SettingName = keyof Table;

/** Parsed value of each setting; null means absent without a default. */
export type SettingValues = {
  [Name in SettingName]:
    | NonNullable<Table[Name]['parser']['_zod']['output']>
    | Extract<Table[Name]['parser']['_zod']['output'], null>
    | (Table[Name]['default'] extends null ? null : never);
};

type Fields = { [Name in SettingName as Table[Name]['field']]: SettingValues[Name] };
type GroupName<Field = keyof Fields> = Field extends `${infer Group}.${string}` ? Group : never;

/** The values by group and name, as the table's `field` says. */
export type SettingGroups = {
  [Group in GroupName]: {
    [Field in keyof Fields as Field extends `${Group}.${infer Name}` ? Name : never]: Fields[Field];
  };
};

/** Settings for requests to the wallet service. */
export type ServiceSettings = SettingGroups['service'] & { baseUrl: string; apiSecret: string };

/**
 * All settings of the program, validated. Durations are in milliseconds; null means `off` or absent. The groups
 * `service`, `partialService`, `lists`, `states` and `pools` are those of one wallet: of the first one, until
 * `settingsOfWallet` selects another. Code that concerns a wallet uses `settingsOfWallet`. All other groups are shared.
 */
export type Settings = Omit<SettingGroups, 'service' | 'pools' | 'wallets' | 'http' | 'feed'> & {
  /** Name of the wallet whose values the groups of one wallet have. */
  wallet: string;
  /** Names of all wallets, in the order of WALLETS. */
  walletNames: readonly string[];
  /** The groups of every wallet, in the order of WALLETS. */
  wallets: readonly WalletSettings[];
  /** Null if the address, the secret, or the API key of an hmac signer is not set; see `needs` of parseSettings. */
  service: ServiceSettings | null;
  /** The same settings; those that are not set are null. */
  partialService: SettingGroups['service'];
  /** `areSet`: ADDRESS_POOLS has a value, so the ledger must have exactly these pools. */
  pools: SettingGroups['pools'] & {
    chains: NonNullable<SettingGroups['pools']['chains']>;
    areSet: boolean;
  };
  /** Null disables the status pages. */
  http: (SettingGroups['http'] & { port: number }) | null;
  /** Receivers of webhooks. */
  feed: { webhooks: readonly WebhookSettings[] };
  /** Paths of the files of secrets and of the database's certificates, as given in the settings. */
  secretFiles: readonly string[];
  /** Texts that must never be printed; input of the redactor. */
  secrets: readonly string[];
  /** Warnings about variables that are named like settings and are not settings. */
  warnings: readonly string[];
};

/** The settings that each wallet may have of its own. */
export type WalletSettings = { name: string } & Pick<
  Settings,
  'service' | 'partialService' | 'lists' | 'states' | 'pools'
>;
