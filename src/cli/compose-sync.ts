import { setMaxListeners } from 'node:events';
import { systemClock } from '../kernel/clock.ts';
import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import { createTicketSource } from '../ledger/ticket-source.ts';
import { claimWallet, requireWallet } from '../ledger/wallet-identity.ts';
import { redactClient } from '../service/redact-client.ts';
import { createWalletClient, type WalletClientOptions } from '../service/wallet-client.ts';
import type { SyncContext } from '../sync/sync-context.ts';
import type { CommandContext } from './command-context.ts';
import { openExistingLedger } from './open-existing-ledger.ts';
import { type OpenedLedger, openMigratedLedger } from './open-ledger.ts';
import { openWallet } from './open-wallet.ts';

/** Longest slice (ms) of a daemon's full scan. */
const scanSliceMaxMs = 20_000;

/** A pass that ran longer than the interval would hold up the next one. */
const scanSliceOf = (everyMs: number | null) => Math.min(scanSliceMaxMs, everyMs ?? scanSliceMaxMs);

/** Callbacks that observe the work. `onPause`: the service asked this process to wait, in milliseconds. */
export type Observers = Pick<SyncContext, 'onRun'> &
  Pick<WalletClientOptions, 'onAttempt'> & { onPause?: (ms: number) => void };

type Opening = {
  /** Prevents this wallet from claiming a ledger that belongs to no wallet yet. */
  isOnlyLooking?: boolean;
  /** Leaves the schema as it is; refuses a schema of another version. */
  isSchemaKept?: boolean;
};

/**
 * Opens the migrated ledger and the client of the wallet service. Refuses the ledger of another wallet. A ledger
 * without a wallet becomes this wallet's with the first request that the service accepts, unless `isOnlyLooking`.
 */
export async function composeSync(
  context: CommandContext,
  { isOnlyLooking = false, isSchemaKept = false, ...observers }: Observers & Opening = {},
): Promise<OpenedLedger & { sync: SyncContext }> {
  const { service, signer, identity } = await openWallet(context);
  let isClaimed = isOnlyLooking;
  const requireOurs = async ({ db }: Ledger) => {
    const isOurs = await requireWallet(db, identity);
    isClaimed ||= isOurs;
  };
  const open = isSchemaKept ? openExistingLedger : openMigratedLedger;
  const opened = await open(context, requireOurs);
  const { log, settings, shutdown } = context;
  // Every request in flight adds a listener.
  setMaxListeners(0, shutdown.signal);
  // Claims the ledger only after the service has accepted the key, so that mistaken settings claim nothing.
  const claimOnce = async () => {
    if (isClaimed) return;
    await claimWallet(opened.ledger.db, identity);
    isClaimed = true;
  };
  const tickets = createTicketSource(opened.ledger, service);
  const plainClient = createWalletClient({
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
    onAccepted: claimOnce,
    ...(observers.onAttempt ? { onAttempt: observers.onAttempt } : {}),
  });
  const client = redactClient(plainClient, context.redact);
  const { pageSize, order } = settings.lists;
  const sync: SyncContext = {
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
      scanSliceMs: scanSliceOf(settings.schedule.transactionsEveryMs),
      retention: settings.retention,
      chains: settings.pools.chains.map(({ slip44 }) => slip44),
      pools: settings.pools,
      chainParam: service.paramNames.chain,
      onMove: settings.pools.onMove,
      isPoolExclusive: settings.pools.isExclusive,
    },
    ...(observers.onRun ? { onRun: observers.onRun } : {}),
  };
  return { ...opened, sync };
}
