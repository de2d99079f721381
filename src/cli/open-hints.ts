import { storeHint } from '../ledger/hint-store.ts';
import { createHintInbox, type HintInbox } from '../sync/hints/hint-inbox.ts';
import { serveHints } from '../sync/hints/serve-hints.ts';
import type { SyncContext } from '../sync/sync-context.ts';
import type { CommandContext } from './command-context.ts';

/**
 * Serves hints of all processes until the shutdown. Returns the inbox of this one, and the function that says that the
 * database has hints.
 */
export function openHints(
  { log, shutdown }: CommandContext,
  sync: SyncContext,
): { inbox: HintInbox; wake(): void } {
  const { ledger } = sync;
  const server = serveHints(sync);
  shutdown.add('hints', () => server.close());
  const inbox = createHintInbox({
    store: (orderNos) => storeHint(ledger.db, orderNos),
    onStored: server.wake,
    log,
  });
  shutdown.add('hint inbox', () => inbox.close());
  return { inbox, wake: server.wake };
}
