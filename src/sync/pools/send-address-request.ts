import { LedgerError, toError } from '../../kernel/errors.ts';
import type { Answer } from '../../ledger/addresses/address-answer-store.ts';
import type { SyncReport } from '../sync-context.ts';
import { numAfterGrant, numAfterLoss, numAfterRefusal, refusalDelayMs } from './decide-pool.ts';
import type { PoolTools } from './pool-port.ts';

/** A request that was written down as `sent`; `plannedAt` by performance.now(). */
export type Sending = { id: number; num: number; refusals: number; plannedAt: number };

/** How the filling of a pool goes on. */
export type FillVerdict = 'again' | 'end' | 'incomplete';

/** A request that could not even be sent for so long is given up, before others may think its sender dead. */
const sendMaxMs = 300_000;

/** Sends the request once. Whatever ends it otherwise than a clear answer or refusal leaves it `unknown`. */
export async function sendAddressRequest(
  context: PoolTools,
  slip44: number,
  request: Sending,
  signal: AbortSignal,
  report: SyncReport,
): Promise<FillVerdict> {
  const { pools, client, log } = context;
  try {
    // A process that was stopped meanwhile may have been given up by the others.
    if (performance.now() - request.plannedAt > sendMaxMs)
      throw new Error('it was planned too long ago to be sent');
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(sendMaxMs)]);
    const answer = await client.generateAddresses({ slip44, num: request.num }, bounded);
    const addresses = answer.records.map((record) => record.address);
    const added = await pools.storeAnswer(
      { ...request, slip44, addresses, rejects: answer.rejects, ifNothingNew: nothingNew(request) },
      numAfterGrant,
    );
    report.rowsSeen += addresses.length;
    if (added === null) return 'again';
    report.rowsInserted += added;
    return added === 0 ? 'incomplete' : 'again';
  } catch (thrown) {
    const error = toError(thrown);
    if (error instanceof LedgerError && clearRefusals.has(error.code)) {
      await acceptRefusal(context, slip44, request, error);
      return 'incomplete';
    }
    const loss = { error: error.message, numMax: numAfterLoss(request.num) };
    await pools.markRequestUnknown(request.id, loss);
    signal.throwIfAborted();
    log.warn(
      { slip44, num: request.num, error },
      'the answer to an address request was lost; the list will tell',
    );
    return 'again';
  }
}

const clearRefusals = new Set<string>([
  'service-refused',
  'service-authentication',
  'service-rate-limited',
]);

function nothingNew({ num, refusals: before }: Sending): Answer['ifNothingNew'] {
  const refusals = before + 1;
  const error = `${num} addresses were asked for, and the answer brought no new one`;
  return { error, refusals, delayMs: refusalDelayMs(refusals) };
}

/** The service refused for certain: the chain waits, and asks for less where the refusal may mean the number. */
async function acceptRefusal(
  { pools, log }: PoolTools,
  slip44: number,
  request: Sending,
  error: LedgerError,
): Promise<void> {
  const refusals = request.refusals + 1;
  const delayMs = refusalDelayMs(refusals);
  // A wrong key or a full budget says nothing of the number.
  const isOfNumber = error.code === 'service-refused';
  const numMax = numAfterRefusal(
    request.num,
    isOfNumber ? refusals : 0,
    isOfNumber ? error.message : '',
  );
  const refusal = { error: error.message, delayMs, numMax };
  await pools.failRequest(request.id, refusal);
  log.warn(
    { slip44, num: request.num, retryInMs: delayMs, error },
    'the service refused to generate addresses',
  );
}
