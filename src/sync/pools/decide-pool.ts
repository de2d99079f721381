import { numAfterLoss, numLimit } from '../../kernel/address-number.ts';
import { isAnswerEnough } from '../../kernel/chain-filter.ts';
import type { OpenRequest, PoolRow, PoolWrite } from '../../ledger/addresses/pool-requests.ts';

/**
 * Decisions for one chain's address pool and its one open request. Generating is not idempotent, so a request is stored
 * before it is sent. A lost answer is searched in the service's own list before another request is sent.
 *
 *                        clear answer
 *   (none) ──▶ sent ─────────────────────▶ done
 *                │  ╲  clear refusal
 *                │   ╲───────────────────▶ failed   then: wait, request fewer
 *                │ answer lost, owner dead; or: the list is not yet shown to apply the chain filter, or to have what
 *                │ the answer names of another chain
 *                ▼
 *             unknown ──▶ list read ──▶ wait ──▶ filter shown ──▶ list read again ──▶ done
 *                ╲── late clear answer, or one that the list does not show ─────────▶ done
 *
 * A request in a final state never leaves it. While a request is `sent` or `unknown`, no other is sent for its chain.
 */
type RequestState = 'sent' | 'unknown' | 'done' | 'failed';

/** Allowed transitions of a request; a new state does not compile until its transitions are decided. */
export const requestTransitions = {
  sent: ['done', 'failed', 'unknown'],
  // A clear answer that arrives late still counts.
  unknown: ['done'],
  done: ['done'],
  failed: [],
} as const satisfies Record<RequestState, readonly RequestState[]>;

/** Steps that this pass has already done, so that it does none twice. */
export type PassSoFar = {
  /** The list was read in this pass. An earlier reading may be older than the addresses that a lagging list shows. */
  isListFresh: boolean;
  /** This pass has tried to show that the list applies the chain filter. */
  isFilterTried: boolean;
  /**
   * The list was empty when the pass tried it. One that has filled since, perhaps by another process, may show the
   * filter.
   */
  wasListEmpty: boolean;
  /**
   * Chains whose lists this pass has tried to read for this pool, and the reason why each may still count as unread.
   */
  siblingsTried: Map<number, string>;
};

export type PoolFacts = PoolRow & Omit<PassSoFar, 'wasListEmpty'>;

/**
 * `settleMs`: wait after a list was read, before it is trusted. `slip44` and `chainParam`, the name of the chain
 * parameter, are for the operator.
 */
export type PoolLimits = {
  maxPerDay: number;
  settleMs: number;
  slip44: number;
  chainParam: string;
};

export type PoolAction =
  | { kind: 'full' }
  /** Another process waits for its answer. */
  | { kind: 'busy' }
  /** The answer can no longer be expected. */
  | { kind: 'lose'; id: number; num: number }
  /**
   * `lostId`: the request whose answer is searched; null: the list must be known before the next request. `isAnswered`:
   * its answer is known, so the list need not show every row that it counts.
   */
  | { kind: 'read-list'; lostId: number | null; isAnswered: boolean }
  /** The list of a chain that may share addresses must be known before the next request. */
  | { kind: 'read-sibling'; slip44: number }
  | { kind: 'settle'; ms: number }
  | { kind: 'prove-filter' }
  /** `refusals`: as for `drop-answer`, if nothing of a postponed answer joins the pool. */
  | { kind: 'resolve'; id: number; isAnswered: boolean; refusals: number }
  /**
   * The list does not show the addresses of a postponed answer. `refusals`: number of refusals in a row, with this one.
   */
  | { kind: 'drop-answer'; id: number; refusals: number }
  | { kind: 'request'; num: number }
  | { kind: 'blocked'; reason: string };

/** Age (ms) after which a sender counts as dead; a living one abandons its request long before this. */
const sentMaxMs = 600_000;
const settleMaxMs = 3_600_000;
/**
 * Time for which the list may lag behind an answer that it must show: this multiple of the settling time, but at least
 * `leastMs`.
 */
const answerPatience = { settleTimes: 10, leastMs: 60_000 };

/** An action, and the write that goes with it under the pool's lock. */
export type PoolPlan = { action: PoolAction; write: PoolWrite | null; refusals: number };

/** Plans a pass over one chain step by step, from the steps done so far. Pure: the caller updates `done`. */
export function createPoolPlanner(
  done: Readonly<PassSoFar>,
  limits: PoolLimits,
): (pool: PoolRow) => PoolPlan {
  return (pool) => {
    const { isFilterTried: isTried, wasListEmpty, ...tried } = done;
    const isFilterTried = isTried && (pool.isListEmpty || !wasListEmpty);
    const action = decidePool({ ...pool, ...tried, isFilterTried }, limits);
    return { action, write: writeOf(action, pool), refusals: pool.refusals };
  };
}

function writeOf(action: PoolAction, { nextTryInMs, isExcess }: PoolRow): PoolWrite | null {
  if (action.kind === 'request') return { kind: 'open', num: action.num };
  if (action.kind === 'lose') {
    const numMax = numAfterLoss(action.num);
    return { kind: 'lose', id: action.id, error: 'the process that sent it has ended', numMax };
  }
  // The service's own message about a refusal stays until the wait after it has ended.
  const isNews = action.kind === 'blocked' && (nextTryInMs <= 0 || isExcess);
  return isNews ? { kind: 'error', error: action.reason } : null;
}

/** Decides on the next action for a chain. Pure. */
export function decidePool(facts: PoolFacts, limits: PoolLimits): PoolAction {
  if (facts.filter === 'broken' && !facts.isFilterTried) return { kind: 'prove-filter' };
  if (facts.open) return decideOpen(facts, facts.open, limits);
  const isWanted = facts.isFilling || facts.available < facts.threshold;
  const wanted = facts.target - facts.available;
  if (!isWanted || wanted <= 0) return { kind: 'full' };
  return (
    decideHindrance(facts, limits) ??
    decideFilter(facts, limits) ?? { kind: 'request', num: numOf(facts, wanted, limits) }
  );
}

/** Returns the action that comes before a new request, or the reason against one; undefined: there is none. */
function decideHindrance(facts: PoolFacts, limits: PoolLimits): PoolAction | undefined {
  if (facts.isStopped) {
    return blocked(
      `the service sent a text that is not a valid address of the chain: read \`wallet-ledger rejects\`, then run \`wallet-ledger pool refill ${limits.slip44} --resume\``,
    );
  }
  if (!facts.isListFresh && (!facts.isListRead || facts.isListGone)) {
    return { kind: 'read-list', lostId: null, isAnswered: false };
  }
  if (!facts.isListRead) return blocked('the address list could not be read from end to end yet');
  if (facts.isListGone)
    return blocked('the service lists no address, although it listed some before');
  if (facts.isExcess) return blocked(excessReason(limits.slip44));
  if (facts.nextTryInMs > 0) {
    const seconds = Math.ceil(facts.nextTryInMs / 1_000);
    return blocked(`no address joined the pool with the last request; retrying in ${seconds} s`);
  }
  if (facts.generated24h >= limits.maxPerDay) {
    const count = `${facts.generated24h} addresses were, or may have been, generated in 24 h`;
    return blocked(`POOL_MAX_PER_DAY is reached: ${count}`);
  }
  return decideSiblings(facts);
}

/**
 * Prevents an answer from making an address available that was handed out on another chain before a move, or that
 * another program has generated there. Waits only for the lists that a move made unread.
 */
function decideSiblings({ siblings, siblingsTried }: PoolFacts): PoolAction | undefined {
  const { unread, old } = siblings;
  const next = [...unread, ...old].find((slip44) => !siblingsTried.has(slip44));
  if (next !== undefined) return { kind: 'read-sibling', slip44: next };
  if (unread.length === 0) return undefined;
  const lists = unread.map((slip44) => `chain ${slip44} (${siblingsTried.get(slip44)})`);
  const reason = 'the database has moved: waiting for the address lists of chains that may share';
  return blocked(`${reason} addresses with this one: ${lists.join(', ')}`);
}

/** Returns the reason for a stop after too many addresses. Its first 300 characters are all that `status` shows. */
function excessReason(slip44: number): string {
  return `the service generated more addresses than were requested: there is no proof which are ours, so they stay foreign and no more are requested. If no one else uses this key, set POOL_EXCLUSIVE=true and run \`wallet-ledger pool refill ${slip44}\`; else see \`wallet-ledger pool adopt ${slip44}\``;
}

function numOf(facts: PoolFacts, wanted: number, limits: PoolLimits): number {
  const allowance = limits.maxPerDay - facts.generated24h;
  return Math.max(1, Math.min(wanted, facts.numMax, allowance, numLimit));
}

const blocked = (reason: string): PoolAction => ({ kind: 'blocked', reason });

/**
 * Returns the action that must come before the list is trusted; undefined: there is none. An empty list shows nothing
 * yet.
 */
function decideFilter(facts: PoolFacts, { chainParam }: PoolLimits): PoolAction | undefined {
  if (isAnswerEnough(facts.filter)) return undefined;
  if (!facts.isFilterTried) return { kind: 'prove-filter' };
  if (facts.filter === 'broken') {
    return blocked(
      `the address list shows addresses of other chains as well: set WALLET_PARAM_NAMES chain= (now ${chainParam}) to the service's name for the chain parameter`,
    );
  }
  if (facts.isListEmpty) return undefined;
  return blocked(
    `nothing shows that the address list honours the chain parameter, because chains with different forms of addresses list the same ones: set WALLET_PARAM_NAMES chain= (now ${chainParam}) to the service's name for the chain parameter`,
  );
}

function decideOpen(facts: PoolFacts, open: OpenRequest, limits: PoolLimits): PoolAction {
  if (open.state === 'sent') {
    const isUnderWay = open.isOwnerAlive && open.ageMs < sentMaxMs;
    return isUnderWay ? { kind: 'busy' } : { kind: 'lose', id: open.id, num: open.num };
  }
  const { id } = open;
  // An answer that the list does not confirm is searched in the list, like a lost one.
  const isAnswered = open.hasAnswer && !open.isUnshown;
  if (open.listReadAgeMs === null) return { kind: 'read-list', lostId: id, isAnswered };
  if (isAnswered) return decideAnswer(facts, open, limits);
  const leftMs = settleMs(facts.losses, limits) - open.listReadAgeMs;
  if (leftMs > 0) return { kind: 'settle', ms: leftMs };
  const refusals = facts.refusals + 1;
  return decideFilter(facts, limits) ?? { kind: 'resolve', id, isAnswered, refusals };
}

/**
 * Decides on a postponed answer. It only needs a list that shows addresses, and so its chain filter; the wait after a
 * lost answer does not apply.
 */
function decideAnswer(facts: PoolFacts, open: OpenRequest, limits: PoolLimits): PoolAction {
  const refusals = facts.refusals + 1;
  const resolve = { kind: 'resolve', id: open.id, isAnswered: true, refusals } as const;
  if (isAnswerEnough(facts.filter)) return resolve;
  if (!facts.isListEmpty) return decideFilter(facts, limits) ?? resolve;
  const leftMs = limits.settleMs - (open.listReadAgeMs ?? 0);
  if (leftMs > 0) return { kind: 'settle', ms: leftMs };
  if (!facts.isListFresh) return { kind: 'read-list', lostId: open.id, isAnswered: true };
  const patienceMs = Math.max(answerPatience.leastMs, answerPatience.settleTimes * limits.settleMs);
  if (-leftMs >= patienceMs) return { kind: 'drop-answer', id: open.id, refusals };
  return blocked(
    'the address list does not show the first addresses yet; they prove that it honours the chain parameter',
  );
}

/** Returns the wait (ms) before the list is trusted; doubles with each lost answer in a row, up to 1 h. */
function settleMs(losses: number, limits: PoolLimits): number {
  const doubled = limits.settleMs * 2 ** Math.min(20, Math.max(0, losses - 1));
  return Math.max(limits.settleMs, Math.min(settleMaxMs, doubled));
}

/** Returns the wait (ms) of a chain after this number of refusals in a row: 15 s, doubling, at most 1 h. */
export function refusalDelayMs(refusals: number): number {
  return Math.min(3_600_000, 15_000 * 2 ** (refusals - 1));
}
