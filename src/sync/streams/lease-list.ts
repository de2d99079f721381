import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { toError } from '../../kernel/errors.ts';
import {
  leaseStream,
  newLeaseOwner,
  releaseStream,
  type StreamRow,
} from '../../ledger/lists/stream-store.ts';
import type { SyncContext } from '../sync-context.ts';

/** Behaviour while another pass reads the list. `briefly`: waits no longer than a slice of the audit takes. */
export type WhenLeased = 'skip' | 'briefly' | 'wait';

export type Leased = { owner: string; row: StreamRow };

const leasePollMs = 250;
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
  const giveUpAt = performance.now() + { skip: 0, briefly: brieflyMs, wait: Infinity }[ifLeased];
  let row = await leaseStream(ledger.db, name, owner);
  if (!row && ifLeased === 'wait')
    log.info({ stream: name }, 'another pass is reading the stream, waiting for it');
  while (!row && performance.now() < giveUpAt) {
    await abortableSleep(leasePollMs, signal);
    row = await leaseStream(ledger.db, name, owner);
  }
  if (!row) return undefined;
  try {
    const result = await work({ owner, row });
    await releaseStream(ledger.db, name, owner, null);
    return result;
  } catch (error) {
    const { message } = toError(error);
    await releaseStream(ledger.db, name, owner, message).catch(() => undefined);
    throw error;
  }
}
