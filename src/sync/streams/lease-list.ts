import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../../kernel/errors.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import { freeWhenReachable } from '../../ledger/connection/free-when-reachable.ts';
import {
  dropLease,
  endWishes,
  type LeasedRow,
  leaseStream,
  newLeaseOwner,
} from '../../ledger/lists/lease-store.ts';
import { leaseMs, releaseStream } from '../../ledger/lists/stream-store.ts';
import type { SyncContext } from '../sync-context.ts';

/**
 * Behaviour while another pass reads the list. `briefly`: waits no longer than a slice of the audit takes. `ask`: waits
 * as long, and asks a scan to give the list back.
 */
export type WhenLeased = 'skip' | 'briefly' | 'ask' | 'wait';

/** `lookBeside`: called once while another pass has the list; returns the longest time (ms) to wait for it then. */
export type LeaseOptions = {
  ifLeased: WhenLeased;
  signal: AbortSignal;
  /** The pass reads old rows only, so its success does not count as a reading of the list. */
  isOfOldRows?: boolean;
  lookBeside?: () => Promise<number>;
};

export type Leased = { owner: string; row: LeasedRow };

const leasePollMs = 100;
/** Interval (ms) at which a pass that has asked for the list tries again; it is short, because new rows wait for it. */
const askedPollMs = 25;
const brieflyMs = 5_000;

/**
 * Runs `work` with the list's lease and stores its outcome; returns undefined if another pass keeps the lease. Rethrows
 * the error of `work`.
 */
export async function withLease<T>(
  context: SyncContext,
  name: string,
  pass: LeaseOptions,
  work: (leased: Leased) => Promise<T>,
): Promise<T | undefined> {
  const { db, instance } = context.ledger;
  const owner = newLeaseOwner(instance);
  try {
    const row = await awaitLease(context, name, owner, pass);
    if (!row) return undefined;
    const result = await work({ owner, row });
    if (pass.isOfOldRows) await dropLease(db, name, owner);
    else await releaseStream(db, name, owner, null);
    return result;
  } catch (error) {
    await freeList(context, name, owner, toError(error));
    throw error;
  }
}

async function awaitLease(
  { ledger: { db }, log }: SyncContext,
  name: string,
  owner: string,
  { ifLeased, signal, lookBeside }: LeaseOptions,
): Promise<LeasedRow | undefined> {
  const isAsking = ifLeased === 'ask';
  const lease = () => leaseStream(db, name, owner, { isWished: isAsking });
  let row = await lease();
  if (row) return row;
  if (ifLeased === 'wait')
    log.info({ stream: name }, 'another pass is reading the stream, waiting for it');
  const waitMs = { skip: 0, briefly: brieflyMs, ask: brieflyMs, wait: Infinity }[ifLeased];
  const mostMs = Math.min(waitMs, (await lookBeside?.()) ?? waitMs);
  const giveUpAt = performance.now() + mostMs;
  while (!row && performance.now() < giveUpAt) {
    await abortableSleep(isAsking ? askedPollMs : leasePollMs, signal);
    row = await lease();
  }
  // Deletes the wish only after success: otherwise it expires by itself, and until then the next pass may still profit
  // from it.
  if (isAsking && row) await endWishes(db, name);
  return row;
}

/** Error of a pass that no longer holds the lease of its list. */
export function takenOver(name: string): LedgerError {
  return new LedgerError('interrupted', `another pass has taken over the stream ${name}`);
}

/**
 * Frees the list after a failed pass, even if another pass may have its lease: while this process lives, others would
 * wait until the lease expires.
 */
export async function freeList(
  { ledger }: SyncContext,
  name: string,
  owner: string,
  error: Error,
): Promise<void> {
  const { message } = databaseError(error);
  await freeWhenReachable(() => releaseStream(ledger.db, name, owner, message), leaseMs);
}
