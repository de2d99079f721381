import { filesRead } from '../../config/files-read.ts';
import { inspectSettings } from '../../config/parse-settings.ts';
import { readEnvironment } from '../../config/read-environment.ts';
import { readTrustedFile } from '../../config/read-trusted-file.ts';
import type { Settings } from '../../config/settings.ts';
import { settingsOfWallet } from '../../config/settings-of-wallet.ts';
import { prefixOf } from '../../config/wallet-names.ts';
import { describeSigning, type SigningReport } from '../../doctor/describe-signing.ts';
import type { Finding } from '../../doctor/finding.ts';
import { runDoctor } from '../../doctor/run-doctor.ts';
import { openEmbeddedPostgres } from '../../embedded/embedded-postgres.ts';
import { systemClock } from '../../kernel/clock.ts';
import { LedgerError, toError } from '../../kernel/errors.ts';
import { createRedactor } from '../../kernel/redact.ts';
import { connectLedger, type Ledger, reachLedger } from '../../ledger/connection/connect-ledger.ts';
import { findSignerMistakes } from '../../service/signing/create-signer.ts';
import { nameWallet } from '../../status/name-wallet.ts';
import { chooseWallet, type WalletOption } from '../context/choose-wallet.ts';
import { type CommandContext, failureLine, isDebugging } from '../context/command-context.ts';
import { isDatabaseMissing } from '../context/open-existing-ledger.ts';
import { jsonDocument } from '../output/json-document.ts';
import { createLogger } from '../output/logger.ts';
import { createScreen } from '../output/screen.ts';
import { wantsColor } from '../output/wants-color.ts';
import { createShutdown } from '../shutdown.ts';
import { createCanvas, wrap } from '../status-view/terminal-text.ts';

export type DoctorCommandOptions = {
  json?: boolean;
  tryVariants?: boolean;
  sign?: string[];
} & WalletOption;

/** Timeout for reaching the database; long enough for a server that is starting. */
const reachMs = 3_000;

/**
 * Runs `wallet-ledger doctor`. Unlike the other commands it also runs with mistaken settings, and reports them as
 * findings. Resolves to 0, to 2 when a finding is bad, or to the exit code of its own failure.
 */
export async function doctor(options: DoctorCommandOptions): Promise<number> {
  let redact = createRedactor([]);
  try {
    const env = readEnvironment();
    const { settings, problems } = inspectSettings(env, readTrustedFile, {
      needs: ['service'],
      findSignerMistakes,
    });
    redact = createRedactor(settings.secrets);
    const screen = createScreen(process.stderr);
    const useColor = wantsColor(process.stderr);
    const log = createLogger({ ...settings.log, redact, stream: screen.log, useColor });
    const shutdown = createShutdown({ log, host: process });
    const context = { env, settings, log, screen, shutdown, redact, isTraced: false };
    try {
      return options.sign
        ? await sign(context, problems, options.sign, options)
        : await examine(context, problems, options);
    } finally {
      await shutdown.close();
    }
  } catch (thrown) {
    const error = toError(thrown);
    process.stderr.write(redact(`${failureLine(error, isDebugging())}\n`));
    return error instanceof LedgerError ? error.exitCode : 1;
  }
}

async function examine(
  context: CommandContext,
  problems: readonly string[],
  { json, tryVariants, wallet }: DoctorCommandOptions,
): Promise<number> {
  const { settings, env, log, shutdown } = context;
  const wallets = wallet === undefined ? settings.walletNames : [wallet];
  for (const name of wallets) settingsOfWallet(settings, name);
  const redact = createRedactor(settings.secrets);
  const checks: Finding[] = [];
  const bad: Finding[] = [];
  await runDoctor({
    settings,
    wallets,
    problems,
    files: filesRead(settings),
    env,
    openLedger: async () => ((await isDatabaseMissing(context)) ? null : openLedger(context)),
    isTryingVariants: tryVariants === true,
    onTrying(requests) {
      process.stderr.write(
        `wallet-ledger: the signature was refused; trying ${requests} other ways to sign, one request each\n`,
      );
    },
    log,
    clock: systemClock,
    signal: shutdown.signal,
    onFindings(findings, about = '') {
      // A check that was ended by the signal has no result.
      shutdown.signal.throwIfAborted();
      // Redacts field by field: a password that equals a key or a verdict must not break the JSON document.
      const shown = findings.map(({ name, verdict, seen, cure }) => ({
        name,
        verdict,
        seen: redact(seen),
        cure: redact(nameWallet(cure, about, settings.walletNames)),
      }));
      checks.push(...shown);
      bad.push(...findings.filter(({ verdict }) => verdict === 'bad'));
      if (!json) process.stdout.write(shown.map(lineOf).join(''));
    },
  });
  if (json) process.stdout.write(jsonDocument({ checks }));
  return exitCodeOf(bad);
}

const ofSettings = /^(settings|wallet|pools)/;
const ofDatabase = /^(database|migrations|home|redis|queue)/;

/** Returns 2 for mistaken settings, 5 for the database or the queue, 4 for the service, 0 without a bad finding. */
function exitCodeOf(bad: Finding[]): number {
  if (bad.length === 0) return 0;
  const names = bad.map(({ name }) => withoutWallet(name));
  if (bad.some(({ error }) => error === 'settings') || names.some((name) => ofSettings.test(name)))
    return 2;
  return names.some((name) => ofDatabase.test(name)) ? 5 : 4;
}

/** Returns the name of a check, without the wallet that it was made for. */
function withoutWallet(name: string): string {
  return name.replace(/^[a-z0-9_]+: /, '');
}

const marks = {
  good: { mark: 'good     ', style: 'green' },
  warning: { mark: 'warning  ', style: 'yellow' },
  bad: { mark: 'BAD      ', style: 'redBright' },
} as const;

/** Returns a line for each finding; on a terminal it is broken between words, beside its coloured mark. */
function lineOf({ name, verdict, seen, cure }: Finding): string {
  const { mark, style } = marks[verdict];
  const { columns } = process.stdout;
  const { paint } = createCanvas({ width: columns, useColor: wantsColor(process.stdout) });
  const text = `${name}: ${seen}${cure && ` — ${cure}`}`;
  const lines = columns === undefined ? [text] : wrap(text, Math.max(40, columns) - mark.length);
  return `${paint(style, mark)}${lines.join(`\n${' '.repeat(mark.length)}`)}\n`;
}

async function openLedger({ settings, log, shutdown }: CommandContext): Promise<Ledger> {
  const { url, dataDir } = settings.database;
  const connectionString = url ?? (await openEmbedded());
  const ledger = connectLedger({ connectionString, poolSize: 2, log });
  shutdown.add('database connections', ledger.close, ledger.cut);
  await reachLedger(ledger, reachMs, { log, signal: shutdown.signal });
  return ledger;

  async function openEmbedded(): Promise<string> {
    const embedded = await openEmbeddedPostgres({ dataDir, log, signal: shutdown.signal });
    shutdown.add('embedded database', () => embedded.close());
    return embedded.connectionString;
  }
}

async function sign(
  { settings: all, env }: CommandContext,
  problems: readonly string[],
  [method = '', target = '', ...rest]: string[],
  options: DoctorCommandOptions,
): Promise<number> {
  if (target === '' || rest.length > 0) {
    throw new LedgerError('usage', '--sign needs a method and a path', {
      cure: 'for example: `wallet-ledger doctor --sign GET /v1/wallet/coin`',
    });
  }
  const settings = chooseWallet(all, options);
  const mistaken = problems.filter((problem) => isOfWallet(problem, settings.wallet));
  if (settings.service === null || mistaken.length > 0) {
    throw new LedgerError('settings', mistaken.join('; '));
  }
  const nonce = String(systemClock() * (settings.service.nonceUnit === 'us' ? 1000 : 1));
  const report = await describeSigning(settings.service, { method, target, nonce }, env);
  const redact = createRedactor(secretsBeside(report.publicKey, settings));
  process.stdout.write(
    redact(options.json ? `${JSON.stringify(report, null, 2)}\n` : pageOf(report)),
  );
  return 0;
}

/** Returns true for a mistake in a setting of the wallet's service, in its own variables or in those for all. */
function isOfWallet(problem: string, wallet: string): boolean {
  return ['', prefixOf(wallet)].some((prefix) => problem.startsWith(`${prefix}WALLET_`));
}

/** Returns the secrets without the public key, which the user asked for. Elsewhere WALLET_API_KEY is redacted. */
function secretsBeside(publicKey: string | null, { secrets }: Settings): string[] {
  return secrets.filter((secret) => secret.trim().toLowerCase() !== publicKey?.toLowerCase());
}

function pageOf({ method, url, nonce, stringToSign, digestHex, publicKey }: SigningReport): string {
  return [
    `request         ${method} ${url}`,
    `BIZ-API-NONCE   ${nonce}`,
    `string to sign  ${stringToSign}`,
    `digest          ${digestHex ?? '(none: HMAC-SHA256 under the shared secret)'}`,
    `public key      ${publicKey ?? '(none: a shared secret)'}`,
    '',
  ].join('\n');
}
