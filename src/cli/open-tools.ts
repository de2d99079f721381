import { setMaxListeners } from 'node:events';
import type { ServiceSettings } from '../config/settings.ts';
import { systemClock } from '../kernel/clock.ts';
import { LedgerError } from '../kernel/errors.ts';
import { createTicketSource } from '../ledger/ticket-source.ts';
import { createSigner } from '../service/create-signer.ts';
import { createWalletClient, type WalletClientOptions } from '../service/wallet-client.ts';
import type { SyncTools } from '../sync/sync-tools.ts';
import type { CommandContext } from './command-context.ts';
import { type OpenedLedger, openMigratedLedger } from './open-ledger.ts';

/** Told of what goes on; `onPause`: the service asked this process to wait, for so many milliseconds. */
export type Observers = Pick<SyncTools, 'onRun'> &
  Pick<WalletClientOptions, 'onAttempt'> & { onPause?: (ms: number) => void };

/** The settings of the service, or the settings error that names what is missing. */
function serviceSettings({ settings, env }: CommandContext): ServiceSettings {
  if (settings.service) return settings.service;
  const missing = ['WALLET_BASE_URL', 'WALLET_API_SECRET', 'WALLET_API_KEY'].filter(
    (name) => !env[name],
  );
  throw new LedgerError(
    'settings',
    `${missing.join(', ')} must be set to speak with the wallet service`,
    { cure: 'set it in the environment or the file .env; `wallet-ledger demo` needs no settings' },
  );
}

/** Opens the migrated ledger and the client of the wallet service: all that passes work with. */
export async function openTools(
  context: CommandContext,
  observers: Observers = {},
): Promise<OpenedLedger & { tools: SyncTools }> {
  const service = serviceSettings(context);
  const signer = await createSigner({
    signer: service.signer,
    apiSecret: service.apiSecret,
    apiKey: service.apiKey ?? undefined,
    hash: service.signHash ?? undefined,
    encoding: service.signEncoding ?? undefined,
    env: context.env,
  });
  const opened = await openMigratedLedger(context);
  const { log, settings, shutdown } = context;
  // Every request in flight listens to it.
  setMaxListeners(0, shutdown.signal);
  const tickets = createTicketSource(opened.ledger, service);
  const client = createWalletClient({
    ...service,
    signer,
    tickets: {
      take: tickets.take,
      async pause(ms) {
        observers.onPause?.(ms);
        await tickets.pause(ms);
      },
    },
    log,
    clock: systemClock,
    random: Math.random,
    ...(observers.onAttempt ? { onAttempt: observers.onAttempt } : {}),
  });
  const { pageSize, order } = settings.lists;
  const tools: SyncTools = {
    ledger: opened.ledger,
    client,
    log,
    clock: systemClock,
    settings: {
      pageSize,
      listOrder: order === 'auto' ? null : order,
      concurrency: service.concurrency,
      auditCycleMs: settings.schedule.auditCycleMs,
      auditShare: Math.min(
        1,
        (settings.schedule.auditEveryMs ?? 0) / settings.schedule.auditCycleMs,
      ),
      chains: settings.pools.chains.map(({ slip44 }) => slip44),
      pools: settings.pools,
    },
    ...(observers.onRun ? { onRun: observers.onRun } : {}),
  };
  return { ...opened, tools };
}
