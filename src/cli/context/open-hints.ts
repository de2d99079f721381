import { storeHint } from '../../ledger/hint-store.ts';
import { createHintInbox } from '../../sync/hints/hint-inbox.ts';
import { serveHints } from '../../sync/hints/serve-hints.ts';
import type { CommandContext } from './command-context.ts';
import type { Composed } from './compose-sync.ts';

/**
 * Serves hints of these wallets and of all processes until the shutdown. `hint` takes a hint, which does not say which
 * wallet it concerns; `wake` says that the database has hints.
 */
export function openHints({ log, shutdown }: CommandContext, composed: Composed[]) {
  const server = serveHints(
    composed.map(({ sync }) => sync),
    log,
  );
  shutdown.add('hints', () => server.close());
  const inboxes = composed.map(({ context, sync: { ledger } }) => {
    const inbox = createHintInbox({
      store: (orderNos) => storeHint(ledger.db, orderNos),
      onStored: server.wake,
      log: context.log,
    });
    shutdown.add('hint inbox', () => inbox.close());
    return inbox;
  });
  return {
    wake: server.wake,
    hint(orderNos: readonly string[]) {
      const outcomes = inboxes.map((inbox) => inbox.hint(orderNos));
      return outcomes.includes('accepted') ? 'accepted' : 'coalesced';
    },
  };
}
