import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../../kernel/errors.ts';
import type { PoolRow } from '../../ledger/addresses/pool-requests.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import { readAway } from '../../ledger/home-store.ts';
import { emptyReport, type SyncContext, type SyncReport } from '../sync-context.ts';
import { withChainCure } from './chain-refusal.ts';
import {
  createPoolPlanner,
  type PassSoFar,
  type PoolAction,
  type PoolPlan,
  refusalDelayMs,
} from './decide-pool.ts';
import { openPoolPort, type PoolTools } from './pool-port.ts';
import { proveFilter } from './prove-filter.ts';
import { type ListReading, readAddressList, readSibling } from './read-address-list.ts';
import { type FillVerdict, type Sending, sendAddressRequest } from './send-address-request.ts';

export type FillOptions = ListReading & {
  /** slip44 codes; default: every configured chain, and those with a request whose outcome is not known. */
  chains?: number[];
  /** Fills up to the target although the threshold is not crossed. */
  force?: boolean;
};

type Planned = Exclude<PoolAction, { kind: 'request' }> | ({ kind: 'send' } & Sending);
type Step = Exclude<Planned, { kind: 'read-sibling' }>;

const busyPollMs = 250;
/** Lost answers in a row that end a pass over one chain; each costs a longer wait than the one before. */
const lossesMax = 3;

/**
 * Fills the address pools that are below their threshold up to their target (docs/wallet-service-api.md, section 4.1).
 * All chains run concurrently: a refusal for one chain delays no other. Several processes may call it at the same time.
 *
 * Resolves the open request of a chain that is no longer configured as well. `isComplete`: every pool is full, or
 * another process fills it; false for a database that has moved, with ON_MOVE=stop. Throws the first error that
 * concerns more than one chain, and the one after which the answers about one chain were lost too often, once the
 * failures of all chains are noted.
 */
export async function fillPools(context: SyncContext, options: FillOptions): Promise<SyncReport> {
  const report = await fillPoolsThrough({ ...context, pools: openPoolPort(context) }, options);
  // With ON_MOVE=stop no address of a moved database is handed out, even if its pools are full.
  const { ledger, settings } = context;
  if (settings.onMove === 'stop' && (await readAway(ledger.db)) !== null) report.isComplete = false;
  return report;
}

/** Does the same as `fillPools`, through an open port; ends the port. */
export async function fillPoolsThrough(
  context: PoolTools,
  options: FillOptions,
): Promise<SyncReport> {
  const { pools, settings } = context;
  const report = emptyReport();
  const chains = options.chains ?? [
    ...new Set([...settings.chains, ...(await pools.chainsInDoubt())]),
  ];
  const ended = await Promise.allSettled(
    chains.map((slip44) => fillPool(context, slip44, options, report)),
  );
  await pools.end();
  const failures = ended.flatMap((one, index) =>
    one.status === 'rejected'
      ? [{ slip44: chains[index] ?? 0, error: databaseError(toError(one.reason)) }]
      : [],
  );
  for (const { slip44, error } of failures) {
    if (!isOfChain(error)) continue;
    report.isComplete = false;
    context.log.warn({ slip44, error }, 'the address pool could not be filled');
    await pools.noteError(slip44, withChainCure(error.message, settings.chainParam));
  }
  const thrown = failures.find(({ error }) => !isOfChain(error) || error instanceof LostTooOften);
  if (thrown) throw thrown.error;
  return report;
}

/** Returns true for a failure that says nothing about other chains. */
function isOfChain(error: Error): boolean {
  return (
    error instanceof LostTooOften || (error instanceof LedgerError && chainFailures.has(error.code))
  );
}

const chainFailures = new Set<string>([
  'service-refused',
  'service-unsettled',
  'service-malformed',
  'database-moved',
]);

async function fillPool(
  context: PoolTools,
  slip44: number,
  options: FillOptions,
  report: SyncReport,
): Promise<void> {
  const { pools, settings } = context;
  if (options.force) await pools.forceFilling(slip44);
  const done: PassSoFar = {
    isListFresh: false,
    isFilterTried: false,
    wasListEmpty: false,
    siblingsTried: new Map(),
  };
  const plan = createPoolPlanner(done, {
    ...settings.pools,
    slip44,
    chainParam: settings.chainParam,
  });
  let isListEmpty = false;
  const decide = (pool: PoolRow) => {
    isListEmpty = pool.isListEmpty;
    return plan(pool);
  };
  let hasAsked = false;
  const afterLosses = createLossCount(slip44);
  for (let verdict: FillVerdict = 'again'; verdict === 'again'; ) {
    options.signal.throwIfAborted();
    const planned = plannedOf(slip44, await pools.plan(slip44, decide));
    if (planned.kind === 'read-sibling') {
      done.siblingsTried.set(planned.slip44, await readSibling(context, planned.slip44, options));
      continue;
    }
    hasAsked ||= planned.kind === 'send';
    const acted = await act(context, slip44, planned, options, report);
    noteDone(done, planned.kind, isListEmpty);
    verdict = afterLosses(acted, planned.kind);
    if (verdict === 'incomplete') report.isComplete = false;
  }
  // The list should show the generated addresses: reading it proves the list again, at the cost of a request or two.
  if (hasAsked) await readAddressList(context, slip44, options);
}

/** Returns a function that returns the next step after each step. It throws after too many lost answers in a row. */
function createLossCount(slip44: number) {
  let inRow = 0;
  return (verdict: FillVerdict, kind: Step['kind']): FillVerdict => {
    const isLost = typeof verdict === 'object';
    if (kind === 'send') inRow = isLost ? inRow + 1 : 0;
    if (!isLost) return verdict;
    if (inRow === lossesMax) throw new LostTooOften(slip44, verdict.lost);
    return 'again';
  };
}

class LostTooOften extends LedgerError {
  constructor(slip44: number, reason: string) {
    const lost = `${lossesMax} answers in a row about new addresses of chain ${slip44} were lost`;
    super('service-unreachable', `${lost}, the last one because: ${reason}`, {
      cure: 'compare the answers of the service with its document; what they generated is found in the address list by the next pass',
    });
  }
}

/** Returns the next step after a plan: a request that the plan has stored is sent. */
function plannedOf(
  slip44: number,
  plan: { decision: PoolPlan; openedId: number | null } | undefined,
): Planned {
  if (!plan)
    return { kind: 'blocked', reason: `ADDRESS_POOLS names no pool for the chain ${slip44}` };
  const { decision, openedId } = plan;
  const { action, refusals } = decision;
  if (action.kind !== 'request') return action;
  if (openedId === null) throw new Error('an address request was planned but not inserted');
  return { kind: 'send', id: openedId, num: action.num, refusals, plannedAt: performance.now() };
}

function noteDone(done: PassSoFar, kind: Step['kind'], wasListEmpty: boolean): void {
  if (kind === 'read-list') done.isListFresh = true;
  if (kind === 'settle') done.isListFresh = false;
  if (kind === 'prove-filter') Object.assign(done, { isFilterTried: true, wasListEmpty });
  // The first addresses may show the filter that an empty list could not show.
  if (kind === 'send') done.isFilterTried = false;
}

async function act(
  context: PoolTools,
  slip44: number,
  action: Step,
  options: FillOptions,
  report: SyncReport,
): Promise<FillVerdict> {
  const { pools, log } = context;
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
      const reading = { ...options, isAnswered: action.isAnswered };
      if (!(await readAddressList(context, slip44, reading))) return 'incomplete';
      if (action.lostId !== null) await pools.noteListRead(action.lostId);
      return 'again';
    }
    case 'prove-filter':
      await proveFilter(context, slip44, options.signal);
      return 'again';
    case 'resolve': {
      const reading = { ...options, isAnswered: action.isAnswered };
      if (!(await readAddressList(context, slip44, reading))) return 'incomplete';
      const { id, refusals } = action;
      const joined = await pools.resolveRequest(id, {
        refusals,
        delayMs: refusalDelayMs(refusals),
      });
      report.rowsInserted += joined;
      return 'again';
    }
    case 'drop-answer': {
      const { id, refusals } = action;
      await pools.dropAnswer(id, { refusals, delayMs: refusalDelayMs(refusals) });
      return 'incomplete';
    }
    case 'blocked':
      log.warn({ slip44, reason: action.reason }, 'the address pool cannot be filled');
      return 'incomplete';
    case 'send':
      return await sendAddressRequest(context, slip44, action, options.signal, report);
  }
}
