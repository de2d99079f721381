import type { ServiceSettings, Settings } from '../config/settings.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { TicketSource } from '../kernel/ticket.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import type { LedgerDb } from '../ledger/connection/connect-ledger.ts';
import { type CoinStates, readCoinStates } from '../ledger/snapshots/read-coin-states.ts';
import { readStatesSeen } from '../ledger/transactions/read-states-seen.ts';
import type { Signer } from '../service/signing/signer.ts';
import { createWalletClient } from '../service/wallet-client.ts';
import { checkCoins } from './check-coins.ts';
import { checkConnection } from './check-connection.ts';
import { checkLists } from './check-lists.ts';
import { checkSignature } from './check-signature.ts';
import { checkStates } from './check-states.ts';
import { withoutVersion } from './discover/discover-service.ts';
import { badFinding, type Finding, guardedFindings, skippedFinding } from './finding.ts';

export type ServiceTools = {
  service: ServiceSettings;
  settings: Settings;
  env: Environment;
  tickets: TicketSource;
  /** Null without a usable ledger. */
  db: LedgerDb | null;
  isTryingVariants: boolean;
  /** Receives the number of other ways to sign before they are tried, each with one request. */
  onTrying(requests: number): void;
  log: Log;
  clock: Clock;
  signal: AbortSignal;
};

const retry = { attemptsMax: 3, baseDelayMs: 200, delayMaxMs: 1_000 };

/**
 * Checks the service step by step: connection, signature, then lists and coins. A failed step skips those that need it.
 */
export async function checkService(
  tools: ServiceTools,
  onFindings: (findings: Finding[]) => void,
): Promise<void> {
  const connection = await checkConnection(tools.service.baseUrl, tools.service.timeoutMs);
  onFindings(connection);
  if (connection.some(({ verdict }) => verdict === 'bad')) {
    const reason = 'the service does not answer';
    onFindings(['signature', 'clock', 'lists'].map((name) => skippedFinding(name, reason)));
    return onFindings(await checkStored(tools));
  }
  const { findings, signer } = await checkSignature(tools, tools);
  onFindings(findings);
  if (signer) return onFindings(await checkAnswers(tools, signer));
  onFindings(checkBaseUrl(tools.service.baseUrl));
  onFindings([skippedFinding('lists', 'the service accepts no signed request')]);
  onFindings(await checkStored(tools));
}

/** Finds a version at the end of the address, where the program adds one: such requests look badly signed. */
function checkBaseUrl(baseUrl: string): Finding[] {
  const without = withoutVersion(baseUrl);
  if (without === baseUrl.replace(/\/+$/, '')) return [];
  const seen = 'WALLET_BASE_URL ends in /v1, which the program adds itself';
  return [badFinding('wallet-address', seen, `set WALLET_BASE_URL=${without}`)];
}

/** Checks lists and coins with signed requests. */
async function checkAnswers(tools: ServiceTools, signer: Signer): Promise<Finding[]> {
  const { service, settings, tickets, db, log, clock, signal } = tools;
  const client = createWalletClient({
    ...service,
    signer,
    tickets,
    log,
    clock,
    retry,
    random: Math.random,
  });
  const states = db ? await readStatesSeen(db).catch(() => []) : [];
  return [
    ...(await guardedFindings('lists', () =>
      checkLists({ client, settings: { ...settings, service }, clock, signal }, states),
    )),
    ...(await guardedFindings('coin-states', async () =>
      checkCoins((await client.listCoins(signal)).records, await storedCoins(db)),
    )),
  ];
}

/** Checks the ledger's stored states and coins, without the service. */
async function checkStored({ db, settings }: ServiceTools): Promise<Finding[]> {
  if (!db) return [];
  return [
    ...(await guardedFindings('states', async () =>
      checkStates(await readStatesSeen(db), settings.states.final),
    )),
    ...(await guardedFindings('coin-states', async () => checkCoins(null, await storedCoins(db)))),
  ];
}

/** Returns null if no coins are stored, which is not a change. */
async function storedCoins(db: LedgerDb | null): Promise<CoinStates[] | null> {
  const coins = db ? await readCoinStates(db) : [];
  return coins.length > 0 ? coins : null;
}
