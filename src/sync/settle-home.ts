import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import { healHome, isMoveNoted, noteMove } from '../ledger/home-store.ts';
import { readStanding, type Standing } from '../ledger/read-standing.ts';
import { rebuildWhileAway } from '../ledger/rebuild-derived.ts';
import { refuseOther } from '../ledger/wallet-identity.ts';
import type { SharedHome, SyncContext } from './sync-context.ts';

/** Time (ms) for which a reading that found the database at home stays valid. */
const homeKeptMs = 1_000;

/**
 * Opens the home that the wallets of a process share. A reading that finds the database at home is valid for a second:
 * every function that hands out or generates an address checks again in its own transaction.
 */
export function shareHome(ledger: Ledger): SharedHome {
  let latest: { standing: Promise<Standing>; readAt: number } | null = null;
  let rebuilding: Promise<void> | null = null;
  return {
    async read() {
      const now = performance.now();
      if (!latest || now - latest.readAt >= homeKeptMs)
        latest = { standing: readStanding(ledger.db), readAt: now };
      const shared = latest;
      const isKept = await shared.standing.then(
        ({ away }) => away === null,
        () => false,
      );
      if (!isKept && latest === shared) latest = null;
      return await shared.standing;
    },
    async rebuild() {
      rebuilding ??= rebuildWhileAway(ledger).finally(() => {
        rebuilding = null;
      });
      await rebuilding;
    },
  };
}

/**
 * Checks that the ledger keeps the wallet of this process and that the database is still at its home. Throws
 * LedgerError `settings` once `migrate --wallet-key` has recorded another wallet under this name. After a move it
 * rebuilds what the move may have lost, and heals the database. With ON_MOVE=stop it only records the move: no address
 * is handed out or generated until the operator runs `wallet-ledger recover`. Several processes may call it at the same
 * time.
 */
export async function settleHome({
  ledger,
  log,
  settings,
  identity,
  onHealed,
  sharedHome = shareHome(ledger),
}: Pick<SyncContext, 'ledger' | 'log' | 'identity' | 'onHealed' | 'sharedHome'> & {
  settings: Pick<SyncContext['settings'], 'onMove'>;
}): Promise<void> {
  const { away, owners } = await sharedHome.read();
  if (identity) refuseOther(owners.get(ledger.wallet) ?? null, identity);
  if (away === null) return;
  const isStopping = settings.onMove === 'stop';
  if (isStopping && (await isMoveNoted(ledger.db))) return;
  await sharedHome.rebuild();
  if (isStopping) {
    if (await noteMove(ledger, away))
      log.error({ away }, 'the database has moved: no address is handed out or generated');
    return;
  }
  const healed = await ledger.longTransaction((db) => healHome(db));
  if (!healed) return;
  const { setAside, closedRequests } = healed;
  log.error(
    { away, setAside, closedRequests },
    'the database has moved: its addresses were set aside',
  );
  onHealed?.();
}
