import { LedgerError } from '../kernel/errors.ts';
import { createRedactor } from '../kernel/redact.ts';
import { checkService, checkTogether, isHmac } from './check-settings.ts';
import { collectSecrets } from './collect-secrets.ts';
import {
  type Environment,
  readSettingTexts,
  type SettingTexts,
  settingEntries,
} from './read-setting-texts.ts';
import type { ServiceSettings, Settings, SettingValues } from './settings.ts';
import type { SettingName } from './settings-table.ts';
import { warnOfUnknownNames } from './unknown-names.ts';

/** A group of settings that a command requires. */
type Need = 'service';

/**
 * Reads all settings from an environment; `readFile` reads the files of secrets. Throws one LedgerError 'settings' that
 * names every mistake by its variable and never contains a secret. With `needs: ['service']` the address and the
 * credentials of the service are required. Without it, `service` is null when they are absent.
 */
export function parseSettings(
  env: Environment,
  readFile: (path: string) => string,
  options: { needs: readonly [Need, ...Need[]] },
): Settings & { service: ServiceSettings };
export function parseSettings(
  env: Environment,
  readFile: (path: string) => string,
  options?: { needs?: readonly Need[] },
): Settings;
export function parseSettings(
  env: Environment,
  readFile: (path: string) => string,
  options: { needs?: readonly Need[] } = {},
): Settings {
  const { settings, problems } = inspectSettings(env, readFile, options);
  if (problems.length > 0) throw new LedgerError('settings', sentence(problems));
  return settings;
}

/**
 * Does the same as `parseSettings` without throwing. Returns every mistake, redacted, and the settings with the default
 * for each mistaken one.
 */
export function inspectSettings(
  env: Environment,
  readFile: (path: string) => string,
  options: { needs?: readonly Need[] } = {},
): { settings: Settings; problems: string[] } {
  const { texts, files, problems: sourceProblems } = readSettingTexts(env, readFile);
  const { values, problems: valueProblems } = readValues(texts);
  const isSet = (name: SettingName) =>
    texts[name] !== undefined || sourceProblems.some((problem) => problem.startsWith(name));
  const problems = [
    ...sourceProblems,
    ...valueProblems,
    ...checkTogether(values, env),
    ...(options.needs?.includes('service') ? checkService(values, isSet) : []),
  ];
  const secrets = collectSecrets(texts);
  const complete = { ...readValues({}).values, ...values } as SettingValues;
  return {
    settings: {
      ...arrange(complete),
      secretFiles: files,
      secrets,
      warnings: warnOfUnknownNames(env),
    },
    problems: problems.map(createRedactor(secrets)),
  };
}

function sentence(problems: string[]): string {
  const [only] = problems;
  if (problems.length === 1 && only) return only;
  return `${problems.length} mistakes in the settings: ${problems.join('; ')}`;
}

function readValues(texts: SettingTexts['texts']): {
  values: Partial<SettingValues>;
  problems: string[];
} {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, setting] of settingEntries) {
    const text = texts[name] ?? setting.default;
    if (text === null) {
      values[name] = null;
      continue;
    }
    const result = setting.parser.safeParse(text);
    if (result.success) values[name] = result.data;
    else {
      const shown = !setting.isSecret && isShown(text) ? JSON.stringify(text) : 'the value';
      problems.push(`${name}: ${shown} does not fit; expected ${result.error.issues[0]?.message}`);
    }
  }
  return { values: values as Partial<SettingValues>, problems };
}

/** Returns true if an error may quote the value: a long value may be a secret in the wrong place. */
function isShown(text: string): boolean {
  return text.length <= 40 && !text.includes('://');
}

function arrange(values: SettingValues): Omit<Settings, 'secretFiles' | 'secrets' | 'warnings'> {
  return {
    service: arrangeService(values),
    lists: { pageSize: values.WALLET_PAGE_SIZE, order: values.WALLET_LIST_ORDER },
    states: { final: values.WALLET_FINAL_STATES, success: values.WALLET_SUCCESS_STATES },
    database: {
      url: values.DATABASE_URL,
      dataDir: values.LEDGER_DATA_DIR,
      poolSize: values.DATABASE_POOL_SIZE,
    },
    queue: { redisUrl: values.REDIS_URL, prefix: values.QUEUE_PREFIX },
    schedule: {
      transactionsEveryMs: values.SYNC_TRANSACTIONS_EVERY,
      detailsEveryMs: values.SYNC_DETAILS_EVERY,
      balancesEveryMs: values.SYNC_BALANCES_EVERY,
      coinsEveryMs: values.SYNC_COINS_EVERY,
      addressesEveryMs: values.SYNC_ADDRESSES_EVERY,
      poolsEveryMs: values.FILL_POOLS_EVERY,
      auditEveryMs: values.AUDIT_EVERY,
      auditCycleMs: values.AUDIT_CYCLE,
    },
    pools: {
      chains: values.ADDRESS_POOLS ?? [],
      maxPerDay: values.POOL_MAX_PER_DAY,
      settleMs: values.POOL_SETTLE,
      isExclusive: values.POOL_EXCLUSIVE === 'true',
      onMove: values.ON_MOVE,
    },
    http:
      values.HTTP_PORT === null
        ? null
        : { host: values.HTTP_HOST, port: values.HTTP_PORT, token: values.HTTP_TOKEN },
    log: { level: values.LOG_LEVEL, format: values.LOG_FORMAT },
  };
}

function arrangeService(values: SettingValues): ServiceSettings | null {
  const { WALLET_BASE_URL: baseUrl, WALLET_API_SECRET: apiSecret, WALLET_API_KEY: apiKey } = values;
  if (baseUrl === null || apiSecret === null) return null;
  if (apiKey === null && isHmac(values.WALLET_SIGNER)) return null;
  return {
    baseUrl,
    apiSecret,
    apiKey,
    signer: values.WALLET_SIGNER,
    signHash: values.WALLET_SIGN_HASH,
    signEncoding: values.WALLET_SIGN_ENCODING,
    nonceUnit: values.WALLET_NONCE_UNIT,
    paramNames: values.WALLET_PARAM_NAMES,
    maxRps: values.WALLET_MAX_RPS,
    concurrency: values.WALLET_CONCURRENCY,
    timeoutMs: values.WALLET_TIMEOUT,
  };
}
