import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { toError } from '../../kernel/errors.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import { endWishes, leaseStream, newLeaseOwner } from '../../ledger/lists/lease-store.ts';
import { releaseStream, type StreamRow } from '../../ledger/lists/stream-store.ts';
import type { SyncContext } from '../sync-context.ts';

/**
 * Behaviour while another pass reads the list. `briefly`: waits no longer than a slice of the audit takes. `ask`: waits
 * as long, and asks a scan to give the list back.
 */
export type WhenLeased = 'skip' | 'briefly' | 'ask' | 'wait';

export type Leased = { owner: string; row: StreamRow };

const leasePollMs = 100;
const brieflyMs = 5_000;

/**
 * Runs `work` with the list's lease and stores its outcome; returns undefined if another pass keeps the lease. Rethrows
 * the error of `work`.
 */
export async function withLease<T>(
  { ledger, log }: SyncContext,
  name: string,
  { ifLeased, signal }: { ifLeased: WhenLeased; signal: AbortSignal },
  work: (leased: Leased) => Promise<T>,
): Promise<T | undefined> {
  const owner = newLeaseOwner(ledger.instance);
  const giveUpAt =
    performance.now() + { skip: 0, briefly: brieflyMs, ask: brieflyMs, wait: Infinity }[ifLeased];
  const lease = () => leaseStream(ledger.db, name, owner, { isWished: ifLeased === 'ask' });
  let row = await lease();
  if (!row && ifLeased === 'wait')
    log.info({ stream: name }, 'another pass is reading the stream, waiting for it');
  const hasWished = !row && ifLeased === 'ask';
  while (!row && performance.now() < giveUpAt) {
    await abortableSleep(leasePollMs, signal);
    row = await lease();
  }
  if (hasWished) await endWishes(ledger.db, name);
  if (!row) return undefined;
  try {
    const result = await work({ owner, row });
    await releaseStream(ledger.db, name, owner, null);
    return result;
  } catch (error) {
    const { message } = databaseError(toError(error));
    await releaseStream(ledger.db, name, owner, message).catch(() => undefined);
    throw error;
  }
}
