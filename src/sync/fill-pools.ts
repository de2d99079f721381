import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../kernel/errors.ts';
import { resolveRequest } from '../ledger/address-answer-store.ts';
import {
  chainsInDoubt,
  loseRequest,
  noteListRead,
  openRequest,
} from '../ledger/address-request-store.ts';
import { databaseError, type Presence } from '../ledger/connect-ledger.ts';
import { requireHome } from '../ledger/home-store.ts';
import { beginFilling, lockPool, notePoolError } from '../ledger/pool-row-store.ts';
import { decidePool, numAfterLoss, type PoolAction } from './decide-pool.ts';
import { proveFilter } from './prove-filter.ts';
import { type FillVerdict, type Sending, sendAddressRequest } from './send-address-request.ts';
import { type SharedPresence, sharePresence } from './share-presence.ts';
import { syncAddressList } from './sync-addresses.ts';
import { emptyReport, type PassReport, type SyncTools } from './sync-tools.ts';

export type FillOptions = {
  signal: AbortSignal;
  /** What to do while another process waits for an answer, or a lost one is not to be believed yet. */
  whenBusy: 'skip' | 'wait';
  /** slip44 codes; default: every configured chain, and those with a request whose end is not known. */
  chains?: number[];
  /** Fill up to the target although the threshold is not crossed. */
  force?: boolean;
};

type Planned = PoolAction | ({ kind: 'send' } & Sending);

/** What the pass has done so far, so that nothing is done twice. */
type Done = { isListFresh: boolean; isFilterTried: boolean };

const busyPollMs = 250;

/**
 * Fills the address pools that are below their threshold up to their target (section 4.1 of the service's
 * document), all chains side by side: a chain that the service refuses holds up no other. Any number of processes
 * may do it at once. An open request of a chain that is configured no more is resolved all the same. `isComplete`:
 * every pool is full, or in the hands of another process.
 */
export async function fillPools(tools: SyncTools, options: FillOptions): Promise<PassReport> {
  const report = emptyReport();
  const chains = options.chains ?? [
    ...new Set([...tools.settings.chains, ...(await chainsInDoubt(tools.ledger.db))]),
  ];
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
  const error = databaseError(toError(thrown));
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
  'database-moved',
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
  const done: Done = { isListFresh: false, isFilterTried: false };
  for (let verdict: FillVerdict = 'again'; verdict === 'again'; ) {
    options.signal.throwIfAborted();
    const action: Planned = await plan(tools, slip44, presence, done);
    if (action.kind === 'request') {
      presence = await shared.hold();
      continue;
    }
    verdict = await act(tools, slip44, action, options, report);
    noteDone(done, action.kind);
    if (verdict === 'incomplete') report.isComplete = false;
  }
  // What was generated is to be found in the list: that proves it again, for a request or two.
  if (presence) await readAddressList(tools, slip44, options);
}

function noteDone(done: Done, kind: Planned['kind']): void {
  if (kind === 'read-list') done.isListFresh = true;
  if (kind === 'settle') done.isListFresh = false;
  if (kind === 'prove-filter') done.isFilterTried = true;
  // The first addresses may show what an empty list could not.
  if (kind === 'send') done.isFilterTried = false;
}

/**
 * Decides under the lock of the pool's row. A request is written down there and then, before anybody can plan
 * another one; but only by a process that shows itself already, so that nobody takes it for dead while it sends.
 */
async function plan(
  tools: SyncTools,
  slip44: number,
  presence: Presence | null,
  done: Done,
): Promise<Planned> {
  const { ledger, settings } = tools;
  return await ledger.transaction(async (db) => {
    const { chainParam } = settings;
    const pool = await lockPool(db, slip44, { self: presence?.name ?? null, chainParam });
    if (!pool) {
      return { kind: 'blocked', reason: `ADDRESS_POOLS names no pool for the chain ${slip44}` };
    }
    const action = decidePool({ ...pool, ...done }, { ...settings.pools, chainParam });
    if (action.kind === 'request' && presence?.isHeld()) {
      await requireHome(db);
      const id = await openRequest(db, slip44, action.num, presence.name);
      return {
        kind: 'send',
        id,
        num: action.num,
        refusals: pool.refusals,
        plannedAt: performance.now(),
      };
    }
    if (action.kind === 'lose') {
      const numMax = numAfterLoss(action.num);
      await loseRequest(db, action.id, { error: 'its sender has gone', numMax });
    }
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
    case 'prove-filter':
      await proveFilter(tools, slip44, options.signal);
      return 'again';
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
