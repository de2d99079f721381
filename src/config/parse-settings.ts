import { LedgerError } from '../kernel/errors.ts';
import { createRedactor } from '../kernel/redact.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import { checkService, checkTogether, isHmac } from './check-settings.ts';
import { collectSecrets } from './collect-secrets.ts';
import { inspectLinkFiles } from './read-link-files.ts';
import { readSettingTexts, type SettingTexts, settingEntries } from './read-setting-texts.ts';
import type {
  ServiceSettings,
  SettingGroups,
  SettingName,
  Settings,
  SettingValues,
} from './settings.ts';
import { warnOfUnknownNames } from './unknown-names.ts';
import { readWebhooks } from './webhook-settings.ts';

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
  const link = inspectLinkFiles(texts.DATABASE_URL, readFile);
  const hooks = readWebhooks(env, readFile, values.FEED_WEBHOOKS ?? []);
  const isSet = (name: SettingName) =>
    texts[name] !== undefined || sourceProblems.some((problem) => problem.startsWith(name));
  const problems = [
    ...sourceProblems,
    ...valueProblems,
    ...link.problems,
    ...hooks.problems,
    ...checkTogether(values, env),
    ...(options.needs?.includes('service') ? checkService(values, isSet) : []),
  ];
  const secrets = [...collectSecrets(texts), ...hooks.secretTexts];
  const complete = { ...readValues({}).values, ...values } as SettingValues;
  return {
    settings: {
      ...arrange(complete),
      feed: { webhooks: hooks.webhooks },
      secretFiles: [...files, ...link.files, ...hooks.files],
      secrets,
      warnings: [...warnOfUnknownNames(env), ...hooks.warnings],
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
      problems.push(`${name}: ${shown} is not valid; expected ${result.error.issues[0]?.message}`);
    }
  }
  return { values: values as Partial<SettingValues>, problems };
}

/** Returns true if an error may quote the value: a long value may be a secret in the wrong place. */
function isShown(text: string): boolean {
  return text.length <= 40 && !text.includes('://');
}

/** Puts each value where the table's `field` says. */
function groupsOf(values: SettingValues): SettingGroups {
  const groups: Record<string, Record<string, unknown>> = {};
  for (const [name, { field }] of settingEntries) {
    const [group = '', key = ''] = field.split('.');
    groups[group] = { ...groups[group], [key]: values[name] };
  }
  return groups as SettingGroups;
}

function arrange(
  values: SettingValues,
): Omit<Settings, 'feed' | 'secretFiles' | 'secrets' | 'warnings'> {
  const { service, pools, http, ...groups } = groupsOf(values);
  const { baseUrl, apiSecret, apiKey } = service;
  const isSigned = apiKey !== null || !isHmac(service.signer);
  return {
    ...groups,
    service: baseUrl && apiSecret && isSigned ? { ...service, baseUrl, apiSecret } : null,
    pools: { ...pools, chains: pools.chains ?? [] },
    http: http.port === null ? null : { ...http, port: http.port },
  };
}
