import { healHome, noteMove, readAway } from '../ledger/home-store.ts';
import type { SyncContext } from './sync-context.ts';

/**
 * Checks that the database is still at its home. After a move it heals the database. With ON_MOVE=stop it only records
 * the move: no address is handed out or generated until the operator runs `wallet-ledger recover`. Several processes
 * may call it at the same time.
 */
export async function settleHome({
  ledger,
  log,
  settings,
  onHealed,
}: Pick<SyncContext, 'ledger' | 'log' | 'onHealed'> & {
  settings: Pick<SyncContext['settings'], 'onMove'>;
}): Promise<void> {
  const away = await readAway(ledger.db);
  if (away === null) return;
  if (settings.onMove === 'stop') {
    if (await noteMove(ledger, away))
      log.error({ away }, 'the database has moved: no address is handed out or generated');
    return;
  }
  const healed = await ledger.transaction((db) => healHome(db));
  if (!healed) return;
  const { setAside, closedRequests } = healed;
  log.error(
    { away, setAside, closedRequests },
    'the database has moved: its addresses were set aside',
  );
  onHealed?.();
}
