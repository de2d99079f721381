import { healHome, noteMove, readAway } from '../ledger/home-store.ts';
import type { SyncContext } from './sync-context.ts';

/**
 * Looks whether the database is where it was. After a move it is healed, or, with ON_MOVE=stop, only noted: nothing is
 * handed out or generated then until `wallet-ledger recover` was run. Any number of processes may do it at once.
 */
export async function settleHome({
  ledger,
  log,
  settings,
}: Pick<SyncContext, 'ledger' | 'log'> & {
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
}
