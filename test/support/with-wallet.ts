import type { QueryResult } from 'pg';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger, type Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { createTicketSource } from '../../src/ledger/ticket-source.ts';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox-options.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { createSigner } from '../../src/service/signing/create-signer.ts';
import { createWalletClient } from '../../src/service/wallet-client.ts';
import type { SyncOptions } from '../../src/sync/streams/sync-stream.ts';
import type { SyncContext, SyncSettings } from '../../src/sync/sync-context.ts';
import { startPostgres } from './start-postgres.ts';
import { toolsOver } from './tools-over.ts';

const finalStates = new Set(['success', 'failed', 'rejected']);

export type Wallet = {
  sandbox: Sandbox;
  ledger: Ledger;
  context: SyncContext;
  connectionString: string;
  query: LedgerQuery;
};

/** Runs one statement in the ledger; resolves to its rows. */
type LedgerQuery = (text: string, values?: unknown[]) => Promise<QueryResult['rows']>;

/** A sandbox service, a fresh migrated database, and the context between them; all closed with the test. */
export async function withWallet(
  options: Partial<SandboxOptions> = {},
  settings: Partial<SyncSettings> = {},
  paramNames = options.paramNames,
): Promise<Wallet> {
  const sandbox = await startSandbox({ signer: 'params-hmac', settleMs: 0, ...options });
  onTestFinished(() => sandbox.close());
  const database = await startPostgres({ isMigrated: true });
  onTestFinished(() => database.close());
  const { connectionString } = database;
  const opened = await openWallet(sandbox, connectionString, settings, paramNames);
  onTestFinished(() => opened.ledger.close());
  return { sandbox, connectionString, ...opened };
}

/** The view of another process on the same wallet; the caller closes the ledger. */
export async function openWallet(
  sandbox: Sandbox,
  connectionString: string,
  settings: Partial<SyncSettings> = {},
  paramNames = sandbox.options.paramNames,
): Promise<Omit<Wallet, 'sandbox' | 'connectionString'>> {
  const ledger = connectLedger({ connectionString, poolSize: 6, log: silentLog });
  await reclassifyByStates(ledger, { final: finalStates, success: new Set(['success']) });
  const { credentials } = sandbox;
  const signer = await createSigner({ ...credentials, signer: credentials.signer });
  const client = createWalletClient({
    baseUrl: sandbox.baseUrl,
    signer,
    tickets: createTicketSource(ledger, { maxRps: null, nonceUnit: 'ms' }),
    paramNames,
    concurrency: 8,
    timeoutMs: 5_000,
    retry: { attemptsMax: 8, baseDelayMs: 5, delayMaxMs: 50 },
    log: silentLog,
    clock: systemClock,
    random: Math.random,
  });
  const query: LedgerQuery = async (text, values) => (await ledger.pool.query(text, values)).rows;
  return { ledger, query, context: toolsOver({ ledger, client }, settings) };
}

/** A pass with the settings of `sync`. */
export function onePass(change: Partial<SyncOptions> = {}): SyncOptions {
  return {
    signal: new AbortController().signal,
    ifLeased: 'wait',
    sliceMs: null,
    effort: 'command',
    ...change,
  };
}
