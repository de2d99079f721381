import { settingsOfWallet } from '../../config/settings-of-wallet.ts';
import { withFields } from '../../kernel/log.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { claimWallet, requireWallet } from '../../ledger/wallet-identity.ts';
import { shareHome } from '../../sync/settle-home.ts';
import type { SyncContext } from '../../sync/sync-context.ts';
import type { CommandContext } from './command-context.ts';
import { numberAtEnd } from './number-at-end.ts';
import { type ClientObservers, openClient } from './open-client.ts';
import { openExistingLedger } from './open-existing-ledger.ts';
import { type OpenedLedger, openMigratedLedger } from './open-ledger.ts';
import { type OpenedWallet, openWallet } from './open-wallet.ts';

/** Longest slice (ms) of a daemon's full scan. */
const scanSliceMaxMs = 20_000;

/** Keeps a pass shorter than the interval, so that it does not delay the next one. */
const scanSliceOf = (everyMs: number | null) => Math.min(scanSliceMaxMs, everyMs ?? scanSliceMaxMs);

/** Callbacks that observe the work. `onOpened`: the database has answered. */
export type Observers = Pick<SyncContext, 'onRun' | 'onHealed'> &
  ClientObservers & { onOpened?: () => void };

/** `isOnlyLooking`: does not claim a ledger that belongs to no wallet yet. */
type Opening = { isOnlyLooking?: boolean };

/**
 * Opens the migrated ledger and the client of the wallet service. Refuses the ledger of another wallet. A ledger
 * without a wallet becomes this wallet's with the first request that the service accepts, unless `isOnlyLooking`.
 * `isSchemaKept`: leaves the schema as it is, and refuses one of another version.
 */
export async function composeSync(
  context: CommandContext,
  { isSchemaKept = false, ...options }: Observers & Opening & { isSchemaKept?: boolean } = {},
): Promise<OpenedLedger & { sync: SyncContext }> {
  // Opens the wallet first, so that mistaken settings are refused before any change.
  const wallet = await openWallet(context);
  const opened = await (isSchemaKept ? openExistingLedger : openMigratedLedger)(context);
  numberAtEnd(context, opened.ledger);
  options.onOpened?.();
  return { ...opened, sync: await createSync(context, opened.ledger, wallet, options) };
}

/** A wallet of the settings, ready for its tasks. */
export type Composed = { context: CommandContext; sync: SyncContext };

/** Composes every wallet of the settings over one ledger, in their order, as `composeSync` does it for one. */
export async function composeAll(
  context: CommandContext,
  observersOf: (wallet: string) => Observers,
): Promise<OpenedLedger & { composed: Composed[] }> {
  const wallets: { own: CommandContext; wallet: OpenedWallet }[] = [];
  for (const own of contextsOfWallets(context))
    wallets.push({ own, wallet: await openWallet(own) });
  const opened = await openMigratedLedger(context);
  const sharedHome = shareHome(opened.ledger);
  const composed: Composed[] = [];
  for (const { own, wallet } of wallets) {
    const name = own.settings.wallet;
    const ledger = opened.ledger.forWallet(name);
    const sync = await createSync(own, ledger, wallet, observersOf(name));
    composed.push({ context: own, sync: { ...sync, sharedHome } });
  }
  return { ...opened, composed };
}

/** Returns the context for each wallet of the settings. Where there are several, their log lines name the wallet. */
function contextsOfWallets(context: CommandContext): CommandContext[] {
  const { settings, log } = context;
  const isOnly = settings.walletNames.length === 1;
  return settings.walletNames.map((wallet) => ({
    ...context,
    settings: settingsOfWallet(settings, wallet),
    log: isOnly ? log : withFields(log, { wallet }),
  }));
}

async function createSync(
  context: CommandContext,
  ledger: Ledger,
  wallet: OpenedWallet,
  { isOnlyLooking = false, ...observers }: Observers & Opening,
): Promise<SyncContext> {
  const { service, identity } = wallet;
  let isClaimed = (await requireWallet(ledger.db, ledger.wallet, identity)) || isOnlyLooking;
  const { log, settings } = context;
  // Claims the ledger only after the service has accepted the key, so that mistaken settings claim nothing.
  const claimOnce = async () => {
    if (isClaimed) return;
    await claimWallet(ledger.db, ledger.wallet, identity);
    isClaimed = true;
  };
  const { client, clock } = openClient(context, ledger, wallet, {
    ...observers,
    onAccepted: claimOnce,
  });
  const { pageSize, order } = settings.lists;
  return {
    ledger,
    client,
    identity,
    log,
    clock,
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
    ...(observers.onHealed ? { onHealed: observers.onHealed } : {}),
  };
}
