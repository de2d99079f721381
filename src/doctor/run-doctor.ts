import type { Settings } from '../config/settings.ts';
import { settingsOfWallet } from '../config/settings-of-wallet.ts';
import { prefixOf } from '../config/wallet-names.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import { createTicketSource } from '../ledger/ticket-source.ts';
import { checkDatabase } from './check-database.ts';
import { checkHome } from './check-home.ts';
import { checkRedis } from './check-redis.ts';
import { checkService } from './check-service.ts';
import { checkSettings } from './check-settings.ts';
import { checkWallet } from './check-wallet.ts';
import { createClockTickets } from './clock-tickets.ts';
import {
  type Finding,
  failedFinding,
  guardedFindings,
  okFinding,
  skippedFinding,
  warningFinding,
} from './finding.ts';

export type DoctorOptions = {
  settings: Settings;
  /** Names of the wallets to check. If the settings have several wallets, each finding names its own. */
  wallets: readonly string[];
  /** Mistakes in the settings; `settings` has the defaults in their places. */
  problems: readonly string[];
  /** Files that the settings come from or name as code. */
  files: readonly string[];
  env: Environment;
  /** Connects to the ledger, which the caller closes; null if the embedded database does not exist yet. */
  openLedger(): Promise<Ledger | null>;
  isTryingVariants: boolean;
  /** Receives the number of other ways to sign before they are tried, each with one request. */
  onTrying?(requests: number): void;
  log: Log;
  clock: Clock;
  signal: AbortSignal;
  /** Receives findings as soon as they are known, with the wallet that they are about; undefined: about all. */
  onFindings(findings: Finding[], wallet?: string): void;
};

/** Settings that every request to the service needs. */
const serviceSetting = /^WALLET_(BASE_URL|API_|SIGN|NONCE_UNIT|PARAM_NAMES)/;
const poolsSetting = /^ADDRESS_POOLS/;

/** Returns true for a mistake in one of the settings, the wallet's own or one for all wallets. */
function concerns(setting: RegExp, problem: string, wallet: string): boolean {
  const prefix = prefixOf(wallet);
  const isOwn = problem.startsWith(prefix);
  return setting.test(isOwn ? problem.slice(prefix.length) : problem);
}

/**
 * Checks settings, database, Redis, and the service of each wallet, in this order; a failure does not stop the other
 * checks. Writes only the tickets of its requests, which come from the database if that is usable.
 */
export async function runDoctor(options: DoctorOptions): Promise<void> {
  const { settings, problems, files, onFindings } = options;
  onFindings(checkSettings(problems, settings.warnings, files));
  const ledger = await openAndCheckDatabase(options);
  const { redisUrl } = settings.queue;
  if (redisUrl !== null) onFindings(await guardedFindings('redis', () => checkRedis(redisUrl)));
  for (const wallet of options.wallets) await checkOneWallet(wallet, ledger, options);
}

/** Checks a wallet and its service. With several wallets, the names of the findings begin with the wallet's. */
async function checkOneWallet(
  wallet: string,
  opened: Ledger | null,
  options: DoctorOptions,
): Promise<void> {
  const { env, isTryingVariants, log, clock, signal } = options;
  const settings = settingsOfWallet(options.settings, wallet);
  const isOnly = settings.walletNames.length === 1;
  const onFindings = (findings: Finding[]) =>
    options.onFindings(
      isOnly ? findings : findings.map((each) => ({ ...each, name: `${wallet}: ${each.name}` })),
      wallet,
    );
  const { service } = settings;
  const isMistaken = (setting: RegExp) =>
    options.problems.some((problem) => concerns(setting, problem, wallet));
  if (service === null || isMistaken(serviceSetting)) {
    return onFindings([skippedFinding('service', "the service's settings are missing or wrong")]);
  }
  onFindings([
    isMistaken(poolsSetting)
      ? skippedFinding('pools', 'the setting is not valid')
      : describePools(settings.pools.chains, wallet, isOnly),
  ]);
  const ledger = opened?.forWallet(wallet) ?? null;
  let isPauseKnown = false;
  const onPaused = (msLeft: number) => {
    if (!isPauseKnown) onFindings([pausedFinding(msLeft)]);
    isPauseKnown = true;
  };
  const tickets = ledger
    ? createTicketSource(ledger, service, onPaused)
    : createClockTickets(clock, service);
  if (ledger) onFindings(await guardedFindings('wallet', () => checkWallet(ledger, service, env)));
  const { onTrying = () => undefined } = options;
  const shared = { service, settings, env, isTryingVariants, onTrying, log, clock, signal };
  try {
    await checkService({ ...shared, tickets, db: ledger?.db ?? null }, onFindings);
  } catch (thrown) {
    signal.throwIfAborted();
    onFindings([failedFinding('service', thrown)]);
  }
}

/** Says why nothing follows for a while. */
function pausedFinding(msLeft: number): Finding {
  const seen = `the service asked to wait, ${Math.ceil(msLeft / 1_000)} s to go`;
  return warningFinding('pause', seen, 'wait: this command sends its requests then');
}

/** Says which pools are kept: without any, the address list stays empty, which looks like a fault. */
function describePools(
  chains: Settings['pools']['chains'],
  wallet: string,
  isOnly: boolean,
): Finding {
  const setting = `${isOnly ? '' : prefixOf(wallet)}ADDRESS_POOLS`;
  if (chains.length === 0) {
    const example = `to keep 100 to 200 addresses of Ethereum ready: ${setting}=60:100:200`;
    const none = 'names no pool: the address list is not read, and no addresses are generated';
    return okFinding('pools', `${setting} ${none}; ${example}`);
  }
  const kept = chains.map(
    ({ slip44, threshold, target }) => `${threshold} to ${target} of chain ${slip44}`,
  );
  return okFinding('pools', `addresses kept ready: ${kept.join(', ')}`);
}

/** Returns the ledger if it is usable, otherwise null. */
async function openAndCheckDatabase(options: DoctorOptions): Promise<Ledger | null> {
  const { settings, problems, clock, onFindings } = options;
  const mistaken = problems.find((problem) => /^(DATABASE_URL|LEDGER_DATA_DIR)/.test(problem));
  if (mistaken !== undefined) {
    onFindings([skippedFinding('database', 'its address is not valid')]);
    return null;
  }
  try {
    const ledger = await options.openLedger();
    const { url, dataDir, poolSize } = settings.database;
    if (ledger === null) {
      const seen = `there is no database in ${dataDir} yet, and DATABASE_URL is not set`;
      onFindings([
        warningFinding('database', seen, 'run `wallet-ledger start`: it creates one there'),
      ]);
      return null;
    }
    const what =
      url === null ? `the embedded database in ${dataDir}` : 'the database of DATABASE_URL';
    onFindings([okFinding('database', `${what} answers`)]);
    const { findings, isUsable } = await checkDatabase(ledger, {
      clock,
      poolSize,
      hasQueue: settings.queue.redisUrl === null,
    });
    onFindings(findings);
    if (!isUsable) return null;
    if (findings.every(({ name, verdict }) => name !== 'migrations' || verdict === 'good'))
      onFindings(await guardedFindings('home', () => checkHome(ledger.db, settings.pools.onMove)));
    return ledger;
  } catch (thrown) {
    options.signal.throwIfAborted();
    onFindings([failedFinding('database', thrown)]);
    return null;
  }
}
