import type { OpenRequest, PoolRow, PoolWrite } from '../../ledger/addresses/pool-requests.ts';

/**
 * One chain's address pool and its one open request. Generating is not idempotent, so a request is written down
 * before it is sent, and a lost answer is looked for in the service's own list before anything else is asked for.
 *
 *                        clear answer
 *   (none) ──▶ sent ─────────────────────▶ done
 *                │  ╲  refused for certain
 *                │   ╲───────────────────▶ failed   then: wait, ask for less
 *                │ answer lost, owner dead; or: the list's chain filter is not shown to work yet
 *                ▼
 *             unknown ──▶ list read ──▶ settled ──▶ list read again ──▶ filter shown ──▶ done
 *
 * No other arrow exists; while a request is `sent` or `unknown` its chain asks for nothing.
 */
type RequestState = 'sent' | 'unknown' | 'done' | 'failed';

/** What a request may become; a new state does not compile until that is decided. */
export const requestTransitions = {
  sent: ['done', 'failed', 'unknown'],
  // A clear answer that comes late still counts.
  unknown: ['done'],
  done: ['done'],
  failed: [],
} as const satisfies Record<RequestState, readonly RequestState[]>;

/** What this pass has done so far, so that nothing is done twice. */
export type PassSoFar = {
  /** The list was read: an earlier reading may have come before a lagging list showed anything. */
  isListFresh: boolean;
  /** It was tried to show that the list heeds the chain. */
  isFilterTried: boolean;
};

export type PoolFacts = PoolRow & PassSoFar;

/** `chainParam`: the name of the chain parameter, for the operator. */
export type PoolLimits = { maxPerDay: number; settleMs: number; chainParam: string };

export type PoolAction =
  | { kind: 'full' }
  /** Another process is waiting for its answer. */
  | { kind: 'busy' }
  /** The answer can no longer be expected. */
  | { kind: 'lose'; id: number; num: number }
  /** `lostId`: the request whose answer is looked for; null: only to know the list before more is asked for. */
  | { kind: 'read-list'; lostId: number | null }
  | { kind: 'settle'; ms: number }
  | { kind: 'prove-filter' }
  | { kind: 'resolve'; id: number }
  | { kind: 'request'; num: number }
  | { kind: 'blocked'; reason: string };

/** Addresses per request at the most (section 4.1 of the service's document). */
const numLimit = 200;
/** A living sender gives up its request long before this. */
const sentMaxMs = 600_000;
const settleMaxMs = 3_600_000;

/** An action, and what is written down of it before the pool's lock is given back. */
export type PoolPlan = { action: PoolAction; write: PoolWrite | null; refusals: number };

/** Plans a pass over one chain: each time by what the pass has done until then. Pure. */
export function createPoolPlanner(
  done: Readonly<PassSoFar>,
  limits: PoolLimits,
): (pool: PoolRow) => PoolPlan {
  return (pool) => {
    const action = decidePool({ ...pool, ...done }, limits);
    return { action, write: writeOf(action, pool), refusals: pool.refusals };
  };
}

function writeOf(action: PoolAction, { nextTryInMs }: PoolRow): PoolWrite | null {
  if (action.kind === 'request') return { kind: 'open', num: action.num };
  if (action.kind === 'lose') {
    const numMax = numAfterLoss(action.num);
    return { kind: 'lose', id: action.id, error: 'its sender has gone', numMax };
  }
  // The service's own words about a refusal stay until it grants again.
  const isNews = action.kind === 'blocked' && nextTryInMs <= 0;
  return isNews ? { kind: 'error', error: action.reason } : null;
}

/** What to do next for a chain. Pure. */
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

/** What keeps the chain from asking for more; undefined: nothing. */
function decideHindrance(facts: PoolFacts, limits: PoolLimits): PoolAction | undefined {
  if (facts.isStopped) {
    return blocked(
      'the service showed a text that is no address of the chain: see `wallet-ledger rejects`, then refill with --resume',
    );
  }
  if (!facts.isListRead || (facts.isListGone && !facts.isListFresh)) {
    return { kind: 'read-list', lostId: null };
  }
  if (facts.isListGone)
    return blocked('the service lists no address although it generated some before');
  if (facts.nextTryInMs > 0) {
    const seconds = Math.ceil(facts.nextTryInMs / 1_000);
    return blocked(`refused by the service, tried again in ${seconds} s`);
  }
  if (facts.generated24h >= limits.maxPerDay) {
    return blocked(`POOL_MAX_PER_DAY is reached: ${facts.generated24h} generated in 24 h`);
  }
  return undefined;
}

function numOf(facts: PoolFacts, wanted: number, limits: PoolLimits): number {
  const allowance = limits.maxPerDay - facts.generated24h;
  return Math.max(1, Math.min(wanted, facts.numMax, allowance, numLimit));
}

function blocked(reason: string): PoolAction {
  return { kind: 'blocked', reason };
}

/** What is to be done before the list may be believed; undefined: nothing. An empty list shows nothing yet. */
function decideFilter(facts: PoolFacts, { chainParam }: PoolLimits): PoolAction | undefined {
  if (facts.filter === 'works') return undefined;
  if (!facts.isFilterTried) return { kind: 'prove-filter' };
  if (facts.filter === 'broken') {
    return blocked(
      `the address list shows the same addresses for a chain that does not exist: set WALLET_PARAM_NAMES chain= (now ${chainParam}) to the service's name of the chain parameter`,
    );
  }
  if (facts.isListEmpty) return undefined;
  return blocked(
    `it could not be shown that the address list heeds the chain (WALLET_PARAM_NAMES chain=${chainParam})`,
  );
}

function decideOpen(facts: PoolFacts, open: OpenRequest, limits: PoolLimits): PoolAction {
  if (open.state === 'sent') {
    const isUnderWay = open.isOwnerAlive && open.ageMs < sentMaxMs;
    return isUnderWay ? { kind: 'busy' } : { kind: 'lose', id: open.id, num: open.num };
  }
  if (open.listReadAgeMs === null) return { kind: 'read-list', lostId: open.id };
  if (open.hasAnswer) return decideAnswer(facts, open, limits);
  const leftMs = settleMs(facts.losses, limits) - open.listReadAgeMs;
  if (leftMs > 0) return { kind: 'settle', ms: leftMs };
  return decideFilter(facts, limits) ?? { kind: 'resolve', id: open.id };
}

/** An answer that was put off needs no settling: only a list that shows something, and so shows its filter. */
function decideAnswer(facts: PoolFacts, open: OpenRequest, limits: PoolLimits): PoolAction {
  if (facts.filter === 'works') return { kind: 'resolve', id: open.id };
  if (!facts.isListEmpty) return decideFilter(facts, limits) ?? { kind: 'resolve', id: open.id };
  const leftMs = limits.settleMs - (open.listReadAgeMs ?? 0);
  if (leftMs > 0) return { kind: 'settle', ms: leftMs };
  if (!facts.isListFresh) return { kind: 'read-list', lostId: open.id };
  return blocked(
    'the address list does not show the first addresses yet: until it does nothing shows that it heeds the chain',
  );
}

/** The list settles twice as long after each lost answer in a row. */
function settleMs(losses: number, limits: PoolLimits): number {
  const doubled = limits.settleMs * 2 ** Math.min(20, Math.max(0, losses - 1));
  return Math.max(limits.settleMs, Math.min(settleMaxMs, doubled));
}

/** Words by which a refusal seems to mean the number; the service's document shows no codes. */
const numberWords = /\bnum|limit|exceed|too many|maximum|quota/i;
/** From so many refusals in a row on the number is doubted whatever the words. */
const doubtedRefusals = 3;

/**
 * Upper bound of the number after the service refused `num`, its `refusals`-th refusal in a row:
 * half of it where the refusal may mean the number, otherwise no new bound.
 */
export function numAfterRefusal(num: number, refusals: number, message: string): number {
  const isNumberDoubted = numberWords.test(message) || refusals >= doubtedRefusals;
  return isNumberDoubted ? Math.max(1, Math.floor(num / 2)) : numLimit;
}

/**
 * Most addresses to ask for after the service granted `num`: twice as many when all that was
 * allowed was granted. `refusedAfterGrant` is the smallest number that was refused today right
 * after a smaller one was granted: that is a limit of the service, not a passing fault.
 */
export function numAfterGrant(
  num: number,
  numMax: number,
  refusedAfterGrant: number | null,
): number {
  const doubled = Math.min(numLimit, 2 * numMax);
  const isLimited = refusedAfterGrant !== null && doubled >= refusedAfterGrant;
  return num < numMax || isLimited ? numMax : doubled;
}

/** Most addresses to ask for after the answer to a request for `num` was lost. */
export function numAfterLoss(num: number): number {
  return Math.max(1, Math.floor(num / 2));
}

/** How long a chain waits after so many refusals in a row: 15 s, doubling, at most 1 h. */
export function refusalDelayMs(refusals: number): number {
  return Math.min(3_600_000, 15_000 * 2 ** (refusals - 1));
}
