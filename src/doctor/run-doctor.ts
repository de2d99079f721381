import type { Settings } from '../config/settings.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Ledger } from '../ledger/connect-ledger.ts';
import { createTicketSource } from '../ledger/ticket-source.ts';
import { checkDatabase } from './check-database.ts';
import { checkRedis } from './check-redis.ts';
import { checkService } from './check-service.ts';
import { checkSettings } from './check-settings.ts';
import { createClockTickets } from './clock-tickets.ts';
import { type Finding, failed, good, guarded, skipped } from './finding.ts';

export type DoctorOptions = {
  settings: Settings;
  /** Mistakes in the settings; `settings` has the defaults in their places. */
  problems: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** A ledger that has answered; the caller closes it. */
  openLedger(): Promise<Ledger>;
  isTryingVariants: boolean;
  log: Log;
  clock: Clock;
  signal: AbortSignal;
  /** Told of the findings as they come. */
  tell(findings: Finding[]): void;
};

/** Settings without which a request to the service means nothing. */
const serviceSetting = /^WALLET_(BASE_URL|API_|SIGN|NONCE_UNIT|PARAM_NAMES)/;

/**
 * Checks settings, database, Redis and service, in this order; no failure stops the rest. Nothing is written, but
 * for the tickets of its requests, which come from the database where it answers.
 */
export async function runDoctor(options: DoctorOptions): Promise<void> {
  const { settings, problems, tell } = options;
  tell(checkSettings(problems, settings.warnings));
  const ledger = await openAndCheckDatabase(options);
  const { redisUrl } = settings.queue;
  if (redisUrl !== null) tell(await guarded('redis', () => checkRedis(redisUrl)));

  const { service } = settings;
  if (service === null || problems.some((problem) => serviceSetting.test(problem))) {
    return tell([skipped('service', "the service's settings are missing or mistaken")]);
  }
  const { env, isTryingVariants, log, clock, signal } = options;
  const tickets = ledger ? createTicketSource(ledger, service) : createClockTickets(clock, service);
  const shared = { service, settings, env, isTryingVariants, log, clock, signal };
  try {
    await checkService({ ...shared, tickets, db: ledger?.db ?? null }, tell);
  } catch (thrown) {
    signal.throwIfAborted();
    tell([failed('service', thrown)]);
  }
}

/** The ledger where it can be worked with; else null. */
async function openAndCheckDatabase(options: DoctorOptions): Promise<Ledger | null> {
  const { settings, problems, clock, tell } = options;
  const mistaken = problems.find((problem) => /^(DATABASE_URL|LEDGER_DATA_DIR)/.test(problem));
  if (mistaken !== undefined) {
    tell([skipped('database', 'its address is mistaken')]);
    return null;
  }
  try {
    const ledger = await options.openLedger();
    const { url, dataDir, poolSize } = settings.database;
    const what =
      url === null ? `the embedded database in ${dataDir}` : 'the database of DATABASE_URL';
    tell([good('database', `${what} answers`)]);
    const { findings, isUsable } = await checkDatabase(ledger, {
      clock,
      poolSize,
      hasQueue: settings.queue.redisUrl === null,
    });
    tell(findings);
    return isUsable ? ledger : null;
  } catch (thrown) {
    options.signal.throwIfAborted();
    tell([failed('database', thrown)]);
    return null;
  }
}
