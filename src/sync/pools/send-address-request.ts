import { isNumberRefused, numAfterLoss, numAfterRefusal } from '../../kernel/address-number.ts';
import { LedgerError, toError } from '../../kernel/errors.ts';
import type { Answer } from '../../ledger/addresses/address-answer-store.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import type { SyncReport } from '../sync-context.ts';
import { withChainCure } from './chain-refusal.ts';
import { refusalDelayMs } from './decide-pool.ts';
import type { PoolTools } from './pool-port.ts';

/** A request that was stored as `sent`; `plannedAt` by `performance.now()`. */
export type Sending = { id: number; num: number; refusals: number; plannedAt: number };

/** Continuation of the filling of a pool; `lost`: the answer to a request was lost, for this reason. */
export type FillVerdict = 'again' | 'end' | 'incomplete' | { lost: string };

/** Time (ms) after which an unsent request is abandoned, before other processes may consider its sender dead. */
const sendMaxMs = 300_000;

/**
 * Sends the request once. Any outcome except a clear answer or refusal leaves it `unknown`. Throws when `signal`
 * aborts.
 */
export async function sendAddressRequest(
  context: PoolTools,
  slip44: number,
  request: Sending,
  signal: AbortSignal,
  report: SyncReport,
): Promise<FillVerdict> {
  const { pools, client, log } = context;
  try {
    // Other processes may consider a process that was suspended meanwhile as dead.
    if (performance.now() - request.plannedAt > sendMaxMs)
      throw new Error('the address request was planned too long ago to be sent');
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(sendMaxMs)]);
    const answer = await client.generateAddresses({ slip44, num: request.num }, bounded);
    const addresses = answer.records.map((record) => record.address);
    const added = await pools.storeAnswer({
      ...request,
      slip44,
      addresses,
      rejects: answer.rejects,
      ifNoneJoins: ifNoneJoins(request),
    });
    report.rowsSeen += addresses.length;
    if (added === null) return 'again';
    report.rowsInserted += added;
    return added === 0 ? 'incomplete' : 'again';
  } catch (thrown) {
    const error = databaseError(toError(thrown));
    if (error instanceof LedgerError && clearRefusals.has(error.code)) {
      return await acceptRefusal(context, slip44, request, error);
    }
    const loss = { error: error.message, numMax: numAfterLoss(request.num) };
    await pools.markRequestUnknown(request.id, loss);
    signal.throwIfAborted();
    // The ledger was given to another wallet: its own processes find the addresses in the list, if they are its own.
    if (error instanceof LedgerError && error.code === 'settings') throw error;
    log.warn(
      { slip44, num: request.num, error },
      'the answer to an address request was lost; reading the address list to find its addresses',
    );
    return { lost: error.message };
  }
}

const clearRefusals = new Set<string>([
  'service-refused',
  'service-authentication',
  'service-nonce',
  'service-rate-limited',
]);

function ifNoneJoins({ refusals: before }: Sending): Answer['ifNoneJoins'] {
  const refusals = before + 1;
  return { refusals, delayMs: refusalDelayMs(refusals) };
}

/**
 * Handles a clear refusal: the chain waits, and requests fewer addresses if the refusal may concern the number. If it
 * seems to concern only the number, the next request follows at once.
 */
async function acceptRefusal(
  { pools, log, settings }: PoolTools,
  slip44: number,
  request: Sending,
  error: LedgerError,
): Promise<FillVerdict> {
  const { num, refusals: before } = request;
  // A wrong key or an exhausted rate limit shows nothing about the number.
  const words = error.code === 'service-refused' ? error.message : null;
  const isSmallerNext = words !== null && isNumberRefused(num, words);
  const refusals = isSmallerNext ? before : before + 1;
  const delayMs = isSmallerNext ? 0 : refusalDelayMs(refusals);
  const numMax = numAfterRefusal(num, words === null ? 0 : refusals, words ?? '');
  const reason = withChainCure(error.message, settings.chainParam);
  await pools.failRequest(request.id, { error: reason, refusals, delayMs, numMax });
  log.warn({ slip44, num, retryInMs: delayMs, error }, 'the service refused to generate addresses');
  return isSmallerNext ? 'again' : 'incomplete';
}
