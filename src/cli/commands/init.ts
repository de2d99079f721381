import { resolve } from 'node:path';
import { inspectSettings } from '../../config/parse-settings.ts';
import { readEnvironment } from '../../config/read-environment.ts';
import { readTrustedFile } from '../../config/read-trusted-file.ts';
import {
  completeNames,
  type Discovery,
  discoverService,
  requestsMax,
  withoutVersion,
} from '../../doctor/discover/discover-service.ts';
import { systemClock } from '../../kernel/clock.ts';
import { LedgerError, toError } from '../../kernel/errors.ts';
import { createRedactor, type Redactor } from '../../kernel/redact.ts';
import type { Environment } from '../../kernel/vocabulary.ts';
import { printableText } from '../../service/decoding/printable-text.ts';
import { createPerson, type Person, readAllOf } from '../ask-person.ts';
import { failureLine, isDebugging } from '../context/command-context.ts';
import { createPrivateFile, renderEnvFile, requireCreatable } from '../env-file.ts';

export type InitOptions = {
  baseUrl?: string;
  apiKey?: string;
  secretFile?: string;
  secretStdin?: boolean;
  out: string;
};

/** Answers from options, environment or operator. `secretPath` is set if the secret stays in its file. */
type Answers = {
  baseUrl: string;
  apiKey: string | null;
  apiSecret: string;
  secretPath: string | null;
  plainHttpHost: string | null;
};

const missing =
  'give --base-url, and the secret by --secret-file, by --secret-stdin or in WALLET_API_SECRET; --api-key if it cannot be derived';

/**
 * Runs `wallet-ledger init`: finds out the signature, parameter names and page size of the service, and writes the
 * settings. Resolves to 0, to 2 for a wrong value, an existing file or a page parameter that the operator has to
 * name, or to 4 if the service fails.
 */
export async function init(options: InitOptions): Promise<number> {
  let redact: Redactor = createRedactor([]);
  const stop = new AbortController();
  const onInterrupt = () =>
    stop.abort(new LedgerError('interrupted', 'stopped before anything was written'));
  process.once('SIGINT', onInterrupt);
  try {
    const path = resolve(options.out);
    await requireCreatable(path);
    const answers = await readAnswers(options, setOf(readEnvironment()));
    redact = createRedactor([
      answers.apiSecret,
      ...(answers.apiKey === null ? [] : [answers.apiKey]),
    ]);
    const { timeoutMs, paramNames } = checkAnswers(answers);
    process.stdout.write(
      `asking the service, with at most ${requestsMax} requests that only read\n`,
    );
    const found = await discoverService(
      { baseUrl: answers.baseUrl, credentials: answers, timeoutMs },
      { clock: systemClock, signal: stop.signal },
    );
    const names = completeNames(found.names, paramNames);
    await createPrivateFile(path, renderEnvFile(settingsOf(answers, found, names, paramNames)));
    process.stdout.write(redact(reportOf(answers, found, names, options.out)));
    return found.isPageWrong
      ? new LedgerError('settings', 'the page parameter is wrong').exitCode
      : 0;
  } catch (thrown) {
    const error = toError(thrown);
    process.stderr.write(redact(`${failureLine(error, isDebugging())}\n`));
    return error instanceof LedgerError ? error.exitCode : 1;
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

/** Leaves out empty variables, which count as not set. */
function setOf(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}

async function readAnswers(options: InitOptions, env: Environment): Promise<Answers> {
  const person = createPerson(process.stdin, process.stderr, missing);
  try {
    return await collectAnswers(options, env, person);
  } finally {
    person.close();
  }
}

async function collectAnswers(
  options: InitOptions,
  env: Environment,
  person: Person,
): Promise<Answers> {
  const baseUrl =
    options.baseUrl ??
    env['WALLET_BASE_URL'] ??
    (await person.ask('Address of the wallet service (https://…): '));
  const isAsking = options.baseUrl === undefined && env['WALLET_BASE_URL'] === undefined;
  const given = options.apiKey ?? env['WALLET_API_KEY'];
  const asked = given === undefined && isAsking;
  const apiKey = asked
    ? await person.ask('API key (empty: derived from the private key): ')
    : (given ?? '');
  // The file of the environment may be that of another wallet.
  const fileOfEnv = options.secretStdin ? undefined : env['WALLET_API_SECRET_FILE'];
  const secretPath = options.secretFile ?? fileOfEnv ?? null;
  const apiSecret =
    secretPath === null ? await readSecret(options, env, person) : readSecretFile(secretPath);
  return {
    baseUrl: baseUrl.trim(),
    apiKey: apiKey.trim() === '' ? null : apiKey.trim(),
    // Removes carriage returns, which a .env file cannot hold.
    apiSecret: apiSecret.trim().replaceAll('\r\n', '\n'),
    secretPath: secretPath === null ? null : resolve(secretPath),
    plainHttpHost: env['WALLET_PLAIN_HTTP_HOST'] ?? null,
  };
}

async function readSecret(
  { secretStdin }: InitOptions,
  env: Environment,
  person: Person,
): Promise<string> {
  if (secretStdin) return await readAllOf(process.stdin);
  return (
    env['WALLET_API_SECRET'] ??
    (await person.askSecretly('Private key or shared secret (not shown): '))
  );
}

function readSecretFile(path: string): string {
  try {
    return readTrustedFile(path);
  } catch (error) {
    if (error instanceof LedgerError) throw error;
    throw unreadable(error);
  }
}

function unreadable(cause: unknown): LedgerError {
  const { code = 'unknown reason' } = cause as NodeJS.ErrnoException;
  const cure = 'check the path and its rights';
  return new LedgerError('usage', `the file of the secret cannot be read (${code})`, {
    cause,
    cure,
  });
}

/** Rejects values with which no service can be reached; returns the defaults of the settings. */
function checkAnswers({ baseUrl, apiSecret, plainHttpHost }: Answers) {
  const env = {
    WALLET_BASE_URL: baseUrl,
    WALLET_API_SECRET: apiSecret,
    ...(plainHttpHost !== null && { WALLET_PLAIN_HTTP_HOST: plainHttpHost }),
  };
  const { settings, problems } = inspectSettings(env, readTrustedFile, { needs: ['service'] });
  const { service } = settings;
  if (problems.length > 0 || service === null) {
    throw new LedgerError('settings', problems.join('; '), {
      cure: 'run the command again with the right value',
    });
  }
  return service;
}

type Names = ReturnType<typeof completeNames>;

function settingsOf(
  { apiKey, apiSecret, secretPath, plainHttpHost }: Answers,
  { baseUrl, way, pageSize }: Discovery,
  names: Names,
  usual: Names,
): Record<string, string> {
  const differ = Object.entries(names).some(
    ([name, value]) => usual[name as keyof Names] !== value,
  );
  return {
    WALLET_BASE_URL: baseUrl,
    ...(plainHttpHost !== null && { WALLET_PLAIN_HTTP_HOST: plainHttpHost }),
    ...(apiKey !== null && { WALLET_API_KEY: apiKey }),
    ...(secretPath === null
      ? { WALLET_API_SECRET: apiSecret }
      : { WALLET_API_SECRET_FILE: secretPath }),
    WALLET_SIGNER: way.recipe,
    ...(way.hash && { WALLET_SIGN_HASH: way.hash }),
    ...(way.encoding && { WALLET_SIGN_ENCODING: way.encoding }),
    ...(differ && {
      WALLET_PARAM_NAMES: Object.entries(names)
        .map((pair) => pair.join('='))
        .join(),
    }),
    ...(pageSize !== null && { WALLET_PAGE_SIZE: String(pageSize) }),
  };
}

/** Returns a note for a name that was not found. */
function doubtOf(meaning: keyof Names, { names, isPageWrong }: Discovery): string {
  if (names[meaning] !== null) return '';
  return meaning === 'page' && isPageWrong ? ' (WRONG)' : ' (not shown by the answers)';
}

function reportOf(answers: Answers, found: Discovery, names: Names, out: string): string {
  const { way, pageSize, states, chains, requests } = found;
  const isCut = withoutVersion(answers.baseUrl) !== answers.baseUrl.replace(/\/+$/, '');
  const variant = [way.hash, way.encoding].filter((each) => each !== null).join(', ');
  const nameWords = Object.entries(names).map(
    ([meaning, name]) => `${meaning}=${name}${doubtOf(meaning as keyof Names, found)}`,
  );
  return [
    `service     ${found.baseUrl}${isCut ? ', without the /v1 at its end, which the program adds' : ''}`,
    `signature   ${way.recipe}${variant === '' ? '' : ` with ${variant}`}`,
    `parameters  ${nameWords.join(', ')}`,
    `page size   ${pageSize ?? 'not shown by the answers'}`,
    `chains      ${chains.length === 0 ? 'none listed' : chains.join(', ')}`,
    `states      ${states.length === 0 ? 'none seen' : printableText(states.join(', '))}`,
    `requests    ${requests}${requests < requestsMax ? '' : ', no more are sent: doctor checks what they did not show'}`,
    `written     ${out}, readable by you alone`,
    '',
    'Next:',
    ...(found.isPageWrong
      ? [
          `  set WALLET_PARAM_NAMES in it, such as page=NAME: the service does not know ${names.page}, nor any other usual`,
          '    name of the page parameter, so only page 1 of its lists can be read',
        ]
      : []),
    '  set DATABASE_URL in it; without, an embedded PostgreSQL is used',
    '  set ADDRESS_POOLS in it, such as 60:20:50, if deposit addresses are needed',
    '  wallet-ledger doctor      checks everything, final states too',
    '  wallet-ledger backfill    copies the history so far',
    '  wallet-ledger start       keeps it up to date',
    '',
  ].join('\n');
}
