import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../kernel/errors.ts';
import {
  beginFilling,
  lockPool,
  loseRequest,
  noteListRead,
  notePoolError,
  openRequest,
  resolveRequest,
} from '../ledger/address-request-store.ts';
import type { Presence } from '../ledger/connect-ledger.ts';
import { decidePool, type PoolAction } from './decide-pool.ts';
import { type FillVerdict, type Sending, sendAddressRequest } from './send-address-request.ts';
import { type SharedPresence, sharePresence } from './share-presence.ts';
import { syncAddressList } from './sync-addresses.ts';
import { emptyReport, type PassReport, type SyncTools } from './sync-tools.ts';

export type FillOptions = {
  signal: AbortSignal;
  /** What to do while another process waits for an answer, or a lost one is not to be believed yet. */
  whenBusy: 'skip' | 'wait';
  /** slip44 codes; default: every configured chain. */
  chains?: number[];
  /** Fill up to the target although the threshold is not crossed. */
  force?: boolean;
};

type Planned = PoolAction | ({ kind: 'send' } & Sending);

const busyPollMs = 250;

/**
 * Fills the address pools that are below their threshold up to their target (section 4.1 of the service's
 * document), all chains side by side: a chain that the service refuses holds up no other. Any number of processes
 * may do it at once. `isComplete`: every pool is full, or in the hands of another process.
 */
export async function fillPools(tools: SyncTools, options: FillOptions): Promise<PassReport> {
  const report = emptyReport();
  const chains = options.chains ?? tools.settings.chains;
  const shared = sharePresence(tools.ledger);
  const ended = await Promise.allSettled(
    chains.map((slip44) => fillPool(tools, slip44, options, { report, shared })),
  );
  await shared.end();
  for (const [index, one] of ended.entries()) {
    if (one.status === 'rejected')
      await acceptFailure(tools, chains[index] ?? 0, one.reason, report);
  }
  return report;
}

/** What the service says against one chain is that chain's; anything else concerns all. */
async function acceptFailure(
  tools: SyncTools,
  slip44: number,
  thrown: unknown,
  report: PassReport,
): Promise<void> {
  const error = toError(thrown);
  const isOfChain = error instanceof LedgerError && chainFailures.has(error.code);
  if (!isOfChain) throw error;
  report.isComplete = false;
  tools.log.warn({ slip44, error }, 'the address pool could not be filled');
  await notePoolError(tools.ledger.db, slip44, error.message);
}

const chainFailures = new Set<string>([
  'service-refused',
  'service-unsettled',
  'service-malformed',
]);

async function fillPool(
  tools: SyncTools,
  slip44: number,
  options: FillOptions,
  { report, shared }: { report: PassReport; shared: SharedPresence },
): Promise<void> {
  const { ledger } = tools;
  if (options.force) await beginFilling(ledger.db, slip44);
  let presence: Presence | null = null;
  let isListFresh = false;
  for (let verdict: FillVerdict = 'again'; verdict === 'again'; ) {
    options.signal.throwIfAborted();
    const action: Planned = await plan(tools, slip44, presence, isListFresh);
    if (action.kind === 'request') {
      presence = await shared.hold();
      continue;
    }
    verdict = await act(tools, slip44, action, options, report);
    isListFresh ||= action.kind === 'read-list';
    if (verdict === 'incomplete') report.isComplete = false;
  }
  // What was generated is to be found in the list: that proves it again, for a request or two.
  if (presence) await readAddressList(tools, slip44, options);
}

/**
 * Decides under the lock of the pool's row. A request is written down there and then, before anybody can plan
 * another one; but only by a process that shows itself already, so that nobody takes it for dead while it sends.
 */
async function plan(
  tools: SyncTools,
  slip44: number,
  presence: Presence | null,
  isListFresh: boolean,
): Promise<Planned> {
  const { ledger, settings } = tools;
  return await ledger.transaction(async (db) => {
    const pool = await lockPool(db, slip44, presence?.name ?? null);
    if (!pool) {
      return { kind: 'blocked', reason: `ADDRESS_POOLS names no pool for the chain ${slip44}` };
    }
    const action = decidePool({ ...pool, isListFresh }, settings.pools);
    if (action.kind === 'request' && presence?.isHeld()) {
      const id = await openRequest(db, slip44, action.num, presence.name);
      return {
        kind: 'send',
        id,
        num: action.num,
        refusals: pool.refusals,
        plannedAt: performance.now(),
      };
    }
    if (action.kind === 'lose') await loseRequest(db, action.id, 'its sender has gone');
    // The service's own words about a refusal stay until it grants again.
    if (action.kind === 'blocked' && pool.nextTryInMs <= 0) {
      await notePoolError(db, slip44, action.reason);
    }
    return action;
  });
}

async function act(
  tools: SyncTools,
  slip44: number,
  action: Exclude<Planned, { kind: 'request' }>,
  options: FillOptions,
  report: PassReport,
): Promise<FillVerdict> {
  const { ledger, log } = tools;
  switch (action.kind) {
    case 'full':
      return 'end';
    case 'lose':
      return 'again';
    case 'busy':
      if (options.whenBusy === 'skip') return 'end';
      await abortableSleep(busyPollMs, options.signal);
      return 'again';
    case 'settle':
      if (options.whenBusy === 'skip') return 'incomplete';
      await abortableSleep(action.ms, options.signal);
      return 'again';
    case 'read-list': {
      if (!(await readAddressList(tools, slip44, options))) return 'incomplete';
      if (action.lostId !== null) await noteListRead(ledger.db, action.lostId);
      return 'again';
    }
    case 'resolve': {
      if (!(await readAddressList(tools, slip44, options))) return 'incomplete';
      const resolved = await ledger.transaction((db) => resolveRequest(db, action.id));
      report.rowsInserted += resolved;
      return 'again';
    }
    case 'blocked':
      log.warn({ slip44, reason: action.reason }, 'the address pool cannot be filled');
      return 'incomplete';
    case 'send':
      return await sendAddressRequest(tools, slip44, action, options.signal, report);
  }
}

/** Reads the chain's list to its end; true when nothing of it is missing. */
async function readAddressList(
  tools: SyncTools,
  slip44: number,
  options: FillOptions,
): Promise<boolean> {
  const read = await syncAddressList(tools, slip44, {
    signal: options.signal,
    whenLeased: options.whenBusy,
    sliceMs: null,
    effort: 'pool',
  });
  return read?.missing === 0 || (read?.missing ?? 1) < 0;
}
