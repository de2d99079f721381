import type { Ledger } from '../ledger/connection/connect-ledger.ts';
import { healHome, isMoveNoted, noteMove, readAway } from '../ledger/home-store.ts';
import { rebuildWhileAway } from '../ledger/rebuild-derived.ts';
import type { SharedHome, SyncContext } from './sync-context.ts';

/** Time (ms) for which a check that found the database at home stays valid. */
const homeKeptMs = 1_000;

/**
 * Opens the home that the wallets of a process share. A check that finds the database at home is valid for a second:
 * every function that hands out or generates an address checks again in its own transaction.
 */
export function shareHome(ledger: Ledger): SharedHome {
  let latest: { away: Promise<string | null>; readAt: number } | null = null;
  let rebuilding: Promise<void> | null = null;
  return {
    async readAway() {
      const now = performance.now();
      if (!latest || now - latest.readAt >= homeKeptMs)
        latest = { away: readAway(ledger.db), readAt: now };
      const shared = latest;
      const isKept = await shared.away.then(
        (away) => away === null,
        () => false,
      );
      if (!isKept && latest === shared) latest = null;
      return await shared.away;
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
 * Checks that the database is still at its home. After a move it rebuilds what the move may have lost, and heals the
 * database. With ON_MOVE=stop it only records the move: no address is handed out or generated until the operator runs
 * `wallet-ledger recover`. Several processes may call it at the same time.
 */
export async function settleHome({
  ledger,
  log,
  settings,
  onHealed,
  sharedHome = shareHome(ledger),
}: Pick<SyncContext, 'ledger' | 'log' | 'onHealed' | 'sharedHome'> & {
  settings: Pick<SyncContext['settings'], 'onMove'>;
}): Promise<void> {
  const away = await sharedHome.readAway();
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
