import { LedgerError, toError } from '../kernel/errors.ts';
import { holdAnswer, isFilterProven, storeGenerated } from '../ledger/address-answer-store.ts';
import { failRequest, loseRequest } from '../ledger/address-request-store.ts';
import type { LedgerDb } from '../ledger/connect-ledger.ts';
import { requireHomeOfRequest } from '../ledger/home-store.ts';
import { postponePool } from '../ledger/pool-row-store.ts';
import { readNumLimits, setNumMax } from '../ledger/pool-store.ts';
import { storeRejects } from '../ledger/reject-store.ts';
import { numAfterGrant, numAfterLoss, numAfterRefusal, refusalDelayMs } from './decide-pool.ts';
import type { PassReport, SyncTools } from './sync-tools.ts';

/** A request that was written down as `sent`; `plannedAt` by performance.now(). */
export type Sending = { id: number; num: number; refusals: number; plannedAt: number };

/** How the filling of a pool goes on. */
export type FillVerdict = 'again' | 'end' | 'incomplete';

/** A request that could not even be sent for so long is given up, before others may think its sender dead. */
const sendMaxMs = 300_000;

/** Sends the request once. Whatever ends it otherwise than a clear answer or refusal leaves it `unknown`. */
export async function sendAddressRequest(
  tools: SyncTools,
  slip44: number,
  request: Sending,
  signal: AbortSignal,
  report: PassReport,
): Promise<FillVerdict> {
  const { ledger, client, log } = tools;
  try {
    // A process that was stopped meanwhile may have been given up by the others.
    if (performance.now() - request.plannedAt > sendMaxMs)
      throw new Error('it was planned too long ago to be sent');
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(sendMaxMs)]);
    const answer = await client.generateAddresses({ slip44, num: request.num }, bounded);
    const addresses = answer.records.map((record) => record.address);
    const added = await ledger.transaction(async (db) => {
      await requireHomeOfRequest(db, request.id);
      await storeRejects(db, answer.rejects);
      if (!(await isFilterProven(db, slip44, tools.settings.chainParam))) {
        await holdAnswer(db, request.id, addresses);
        return null;
      }
      const stored = await storeGenerated(db, request.id, addresses);
      if (stored === 0) await holdOff(db, slip44, request);
      else await raiseNumber(db, slip44, request.num);
      return stored;
    });
    report.rowsSeen += addresses.length;
    if (added === null) return 'again';
    report.rowsInserted += added;
    return added === 0 ? 'incomplete' : 'again';
  } catch (thrown) {
    const error = toError(thrown);
    if (error instanceof LedgerError && clearRefusals.has(error.code)) {
      await acceptRefusal(tools, slip44, request, error);
      return 'incomplete';
    }
    await ledger.transaction((db) =>
      loseRequest(db, request.id, { error: error.message, numMax: numAfterLoss(request.num) }),
    );
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

/** A number that was lowered is doubled while the service grants all of it. */
async function raiseNumber(db: LedgerDb, slip44: number, num: number): Promise<void> {
  const limits = await readNumLimits(db, slip44);
  if (!limits) return;
  const numMax = numAfterGrant(num, limits.numMax, limits.refusedAfterGrant);
  if (numMax !== limits.numMax) await setNumMax(db, slip44, numMax);
}

/** Who says yes and brings nothing new would be asked without end, and may generate addresses all the same. */
async function holdOff(db: LedgerDb, slip44: number, request: Sending): Promise<void> {
  const refusals = request.refusals + 1;
  const error = `${request.num} addresses were asked for, and the answer brought no new one`;
  await postponePool(db, slip44, { error, refusals, delayMs: refusalDelayMs(refusals) });
}

/** The service refused for certain: the chain waits, and asks for less where the refusal may mean the number. */
async function acceptRefusal(
  { ledger, log }: SyncTools,
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
  await ledger.transaction((db) => failRequest(db, request.id, refusal));
  log.warn(
    { slip44, num: request.num, retryInMs: delayMs, error },
    'the service refused to generate addresses',
  );
}
