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

/** Told of what goes on; `onPause`: the service asked this process to wait, for so many milliseconds. */
export type Observers = Pick<SyncContext, 'onRun'> &
  Pick<WalletClientOptions, 'onAttempt'> & { onPause?: (ms: number) => void };

type Opening = {
  /** Nothing of the ledger becomes this wallet's. */
  isOnlyLooking?: boolean;
  /** The schema and the judgement of rows stay as they are; a schema of another version is refused. */
  isSchemaKept?: boolean;
};

/**
 * Opens the migrated ledger and the client of the wallet service: all that passes work with. Refuses the ledger of
 * another wallet; one that is nobody's yet becomes this wallet's with the first part of the work, unless
 * `isOnlyLooking`.
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
  // Every request in flight listens to it.
  setMaxListeners(0, shutdown.signal);
  // Once the service has accepted the key: mistaken settings claim nothing.
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
