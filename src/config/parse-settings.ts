import { LedgerError } from '../kernel/errors.ts';
import { createRedactor } from '../kernel/redact.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import { arrangeSettings } from './arrange-settings.ts';
import { checkShared } from './check-settings.ts';
import {
  checkBaseUrl,
  checkKeys,
  checkPools,
  checkService,
  checkSigner,
  checkStates,
  type FindSignerMistakes,
  matchStates,
  type ReadWallet,
  warnOfPlainHttp,
} from './check-wallets.ts';
import { collectSecrets } from './collect-secrets.ts';
import { inspectLinkFiles } from './read-link-files.ts';
import { readSettingTexts, type SettingTexts } from './read-setting-texts.ts';
import { readValues } from './read-values.ts';
import { readWalletTexts } from './read-wallet-texts.ts';
import type { ServiceSettings, Settings } from './settings.ts';
import { warnOfUnknownNames } from './unknown-names.ts';
import { validNamesIn } from './wallet-names.ts';
import { readWebhooks } from './webhook-settings.ts';

/**
 * Settings that a command requires. `service`: the address and the credentials. `credentials`: those that are set must
 * be usable. `pools`: the address pools.
 */
type Need = 'service' | 'credentials' | 'pools';

export type Needs = {
  needs?: readonly Need[];
  /** Returns true for a wallet that the command concerns; default: all of them. */
  concerns?: (wallet: string, all: readonly string[]) => boolean;
  /** Finds the mistakes in the credentials, which only the code that signs can see. */
  findSignerMistakes?: FindSignerMistakes;
};

/**
 * Reads all settings from an environment; `readFile` reads the files of secrets. Throws one LedgerError 'settings' that
 * names every mistake by its variable and never contains a secret. With `needs: ['service']` the address and the
 * credentials of the service are required, for every wallet that the command concerns. Without it, `service` is null
 * when they are absent.
 */
export function parseSettings(
  env: Environment,
  readFile: (path: string) => string,
  options: Needs & { needs: readonly ['service', ...Need[]]; concerns?: never },
): Settings & { service: ServiceSettings };
export function parseSettings(
  env: Environment,
  readFile: (path: string) => string,
  options?: Needs,
): Settings;
export function parseSettings(
  env: Environment,
  readFile: (path: string) => string,
  options: Needs = {},
): Settings {
  const { settings, problems } = inspectSettings(env, readFile, options);
  if (problems.length === 0) return settings;
  const isNew = problems.some((problem) => /WALLET_BASE_URL\b.*: not set/.test(problem));
  // A setting may be missing because its name is mistyped.
  const warnings = settings.warnings.map(createRedactor(settings.secrets));
  // Listed separately, because the message states the number of mistakes.
  const remarks = warnings.length === 0 ? '' : `. Besides: ${warnings.join('; ')}`;
  const message = `${sentence(problems)}${remarks}`;
  throw new LedgerError('settings', message, isNew ? { cure: firstSteps } : {});
}

const firstSteps =
  'set them in the environment or the file .env: `wallet-ledger init` writes one, and `wallet-ledger demo` needs none';

/**
 * Does the same as `parseSettings` without throwing. Returns every mistake, redacted, and the settings with the default
 * for each mistaken one.
 */
export function inspectSettings(
  env: Environment,
  readFile: (path: string) => string,
  options: Needs = {},
): { settings: Settings; problems: string[] } {
  const shared = readSettingTexts(env, readFile);
  const { values, problems: valueProblems } = readValues(shared.texts);
  const names = values.WALLETS ?? validNamesIn(shared.texts.WALLETS ?? '');
  const wallets = names.map((name) => readWallet(env, readFile, shared, name));
  const link = inspectLinkFiles(shared.texts.DATABASE_URL, readFile);
  const hooks = readWebhooks(env, readFile, values.FEED_WEBHOOKS ?? []);
  const problems = [
    ...shared.problems,
    ...valueProblems,
    ...wallets.flatMap((wallet) => wallet.problems),
    ...link.problems,
    ...hooks.problems,
    ...checkShared(values, env),
    ...wallets.flatMap(checkStates),
    ...wallets.flatMap(checkBaseUrl),
    ...checkKeys(wallets),
    ...checkNeeds(wallets, options),
  ];
  const secrets = [...collectSecrets(env, shared.texts, wallets), ...hooks.secretTexts];
  const files = [shared, ...wallets, link, hooks].flatMap((source) => source.files);
  const settings = arrangeSettings(values, wallets, {
    feed: { webhooks: hooks.webhooks },
    secretFiles: [...new Set(files)],
    secrets,
    warnings: [
      ...warnOfUnknownNames(env, names, values.WALLETS !== undefined),
      ...hooks.warnings,
      ...new Set(wallets.flatMap(warnOfPlainHttp)),
    ],
  });
  // Building a redactor takes some milliseconds for each secret.
  if (problems.length === 0) return { settings, problems };
  // A mistake of a shared variable is named once, not for each wallet.
  return { settings, problems: [...new Set(problems)].map(createRedactor(secrets)) };
}

function checkNeeds(
  all: readonly ReadWallet[],
  { needs = [], concerns = () => true, findSignerMistakes = () => [] }: Needs,
): string[] {
  const names = all.map(({ name }) => name);
  const isOnly = names.length === 1;
  const wallets = all.filter(({ name }) => concerns(name, names));
  const isSigning = needs.includes('service') || needs.includes('credentials');
  return [
    ...(needs.includes('service') ? wallets.flatMap((each) => checkService(each, isOnly)) : []),
    ...(isSigning ? wallets.flatMap((each) => checkSigner(each, findSignerMistakes)) : []),
    ...(needs.includes('pools') ? wallets.flatMap((each) => checkPools(each, isOnly)) : []),
  ];
}

function sentence(problems: string[]): string {
  const [only] = problems;
  if (problems.length === 1 && only) return only;
  return `${problems.length} mistakes in the settings: ${problems.join('; ')}`;
}

function readWallet(
  env: Environment,
  readFile: (path: string) => string,
  shared: SettingTexts,
  name: string,
): ReadWallet {
  const read = readWalletTexts(env, readFile, shared, name);
  const { values, problems } = readValues(read.texts, read.variableOf);
  return {
    ...read,
    values: matchStates(values, read.given),
    problems: [...read.problems, ...problems],
  };
}
