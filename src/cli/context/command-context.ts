import { filesRead } from '../../config/files-read.ts';
import { type Needs, parseSettings } from '../../config/parse-settings.ts';
import { readEnvironment } from '../../config/read-environment.ts';
import { readTrustedFile } from '../../config/read-trusted-file.ts';
import type { Settings } from '../../config/settings.ts';
import { errorTable, LedgerError, toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { createRedactor, type Redactor } from '../../kernel/redact.ts';
import type { Environment } from '../../kernel/vocabulary.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import { sqlStateOf } from '../../ledger/connection/postgres-codes.ts';
import { namingReadOnlySetting } from '../../ledger/connection/read-only-setting.ts';
import { findSignerMistakes } from '../../service/signing/create-signer.ts';
import { nameWallet } from '../../status/name-wallet.ts';
import { describeError } from '../output/describe-error.ts';
import { createLogger } from '../output/logger.ts';
import { createScreen, type Screen } from '../output/screen.ts';
import { wantsColor } from '../output/wants-color.ts';
import { createShutdown, type Shutdown } from '../shutdown.ts';
import { chooseWallet, type WalletOption } from './choose-wallet.ts';
import { startTracing } from './start-tracing.ts';

/** Shared objects of every command. */
export type CommandContext = {
  env: Environment;
  settings: Settings;
  log: Log;
  screen: Screen;
  shutdown: Shutdown;
  /** Redacts secrets in texts from outside before they are stored or shown. */
  redact: Redactor;
  /** True when traces are sent. */
  isTraced: boolean;
};

/**
 * `scope`: the options of a command that concerns one wallet. `mayRest`: they may name a wallet that WALLETS does not
 * have; the command checks that the ledger has it. `needs`: the settings that the command requires.
 */
export type CommandDemands = {
  scope?: WalletOption | undefined;
  mayRest?: boolean;
} & Pick<Needs, 'needs'>;

/**
 * Runs a command: opens settings, logger and shutdown before it and closes everything after it. Resolves to the exit
 * code (listed in docs/operations.md). A failure prints one line with the problem and its cure. With `scope` the
 * command concerns one wallet, and the settings are that wallet's.
 */
export async function runCommand(
  work: (context: CommandContext) => Promise<number>,
  {
    extraSettings = {},
    scope,
    mayRest = false,
    needs = [],
  }: CommandDemands & { extraSettings?: Environment } = {},
): Promise<number> {
  const env = { ...readEnvironment(), ...extraSettings };
  const read = parseSettings(env, readTrustedFile, {
    needs,
    concerns: (wallet, all) => !scope || wallet === (scope.wallet ?? onlyOf(all)),
    findSignerMistakes,
  });
  const settings = scope ? chooseWallet(read, scope, mayRest) : read;
  const redact = createRedactor(settings.secrets);
  const { level, format } = settings.log;
  const screen = createScreen(process.stderr);
  const useColor = wantsColor(process.stderr);
  const log = createLogger({ level, format, redact, stream: screen.log, useColor });
  log.debug({ files: filesRead(settings) }, 'files that the settings come from');
  for (const warning of settings.warnings) log.warn({}, warning);
  const shutdown = createShutdown({ log, host: process });
  const lastWords = (thrown: Error) => {
    const { reason } = shutdown.signal;
    // The signal decides, not the error: an aborted wait or a broken connection throws an error of its own.
    const isStopped = reason instanceof LedgerError && isOfStop(thrown);
    const error = isStopped ? reason : thrown;
    const line = failureLine(error, level === 'debug');
    return {
      line: redact(`${scope ? forWallet(settings, line) : line}\n`),
      exitCode: error instanceof LedgerError ? error.exitCode : 1,
    };
  };
  // Replaces Node's report of uncaught errors, which would show secrets. Unhandled rejections arrive here as well.
  process.on('uncaughtException', (thrown) => {
    // EPIPE can come from stdout as well; only an error with a SQLSTATE is the database's.
    const isOfDatabase = sqlStateOf(thrown) !== undefined;
    const { line, exitCode } = lastWords(isOfDatabase ? databaseError(thrown) : toError(thrown));
    process.stderr.write(line, () => process.exit(exitCode));
  });
  try {
    const { isTraced } = await startTracing(env, { log, shutdown });
    return await work({ env, settings, log, screen, shutdown, redact, isTraced });
  } catch (thrown) {
    const error = databaseError(toError(thrown));
    const { line, exitCode } = lastWords(await namingReadOnlySetting(error, settings.database.url));
    process.stderr.write(line);
    return exitCode;
  } finally {
    await shutdown.close();
  }
}

/** Returns true for a failure that is a consequence of the stop. */
function isOfStop(error: Error): boolean {
  const codes: readonly string[] = ['interrupted', 'database-unreachable', 'queue-unreachable'];
  return error instanceof LedgerError && codes.includes(error.code);
}

/** Returns the only wallet; undefined if there are several, of which the command line has to name one. */
function onlyOf([only, ...others]: readonly string[]): string | undefined {
  return others.length === 0 ? only : undefined;
}

/** Adds the wallet of the settings to the commands that a text names, if there are several. */
export function forWallet({ wallet, walletNames }: Settings, text: string): string {
  return nameWallet(text, wallet, walletNames);
}

/** Returns true when LOG_LEVEL is `debug`. Used for failures before, or without, a command's settings. */
export function isDebugging(): boolean {
  try {
    return readEnvironment()['LOG_LEVEL'] === 'debug';
  } catch {
    return false;
  }
}

/** `wallet-ledger: the problem; its cure`, with stack traces when debugging. */
export function failureLine(error: Error, withStack: boolean): string {
  const { message, code, cure = cureOf(code) } = describeError(error, { withStack: false });
  const line = `wallet-ledger: ${message.replaceAll(/[\s\p{C}]+/gu, ' ')}; ${cure}`;
  if (!withStack) return line;
  return `${line}\n${JSON.stringify(describeError(error, { withStack: true }), null, 2)}`;
}

/** Returns the advice for an error that is not a LedgerError. */
function cureOf(code: string | undefined): string {
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? 'free space where the output is written, then run the command again'
    : errorTable.unexpected.cure;
}
