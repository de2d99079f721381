/**
 * One chain's address pool and its one open request. Generating is not idempotent, so a request is written down
 * before it is sent, and a lost answer is looked for in the service's own list before anything else is asked for.
 *
 *                        clear answer
 *   (none) ──▶ sent ─────────────────────▶ done
 *                │  ╲  refused for certain
 *                │   ╲───────────────────▶ failed   then: wait, ask for less
 *                │ answer lost, owner dead
 *                ▼
 *             unknown ──▶ list read ──▶ settled ──▶ list read again ──▶ done
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

type OpenRequest = {
  id: number;
  state: 'sent' | 'unknown';
  ageMs: number;
  /** Whether its sender, who showed itself to the database before, still does. */
  isOwnerAlive: boolean;
  /** Since the address list was first read to its end after the answer was lost; null: not yet. */
  listReadAgeMs: number | null;
};

/** What the ledger knows of a chain's pool, read under a lock on its row. */
export type PoolFacts = {
  available: number;
  threshold: number;
  target: number;
  /** Was below its threshold, or told to fill, and has not reached its target since. */
  isFilling: boolean;
  /** Most addresses to ask for at once, as refusals have taught. */
  numMax: number;
  /** Until the service may be asked again after a refusal; 0 or less: now. */
  nextTryInMs: number;
  /** Addresses generated in the last 24 h, those of open requests included. */
  generated24h: number;
  /** Whether the chain's address list has been read to its end once. */
  isListRead: boolean;
  /** The list is empty at the service while the ledger holds addresses of it: a fault, not a need. */
  isListGone: boolean;
  /** Whether this pass has read the list: an earlier reading may have come before a lagging list showed anything. */
  isListFresh: boolean;
  open: OpenRequest | null;
};

export type PoolLimits = { maxPerDay: number; settleMs: number };

export type PoolAction =
  | { kind: 'full' }
  /** Another process is waiting for its answer. */
  | { kind: 'busy' }
  /** The answer can no longer be expected. */
  | { kind: 'lose'; id: number }
  /** `lostId`: the request whose answer is looked for; null: only to know the list before more is asked for. */
  | { kind: 'read-list'; lostId: number | null }
  | { kind: 'settle'; ms: number }
  | { kind: 'resolve'; id: number }
  | { kind: 'request'; num: number }
  | { kind: 'blocked'; reason: string };

/** Addresses per request at the most (section 4.1 of the service's document). */
const numLimit = 200;
/** A living sender gives up its request long before this. */
const sentMaxMs = 600_000;

/** What to do next for a chain. Pure. */
export function decidePool(facts: PoolFacts, limits: PoolLimits): PoolAction {
  if (facts.open) return decideOpen(facts.open, limits);
  const isWanted = facts.isFilling || facts.available < facts.threshold;
  const wanted = facts.target - facts.available;
  if (!isWanted || wanted <= 0) return { kind: 'full' };
  if (!facts.isListRead || (facts.isListGone && !facts.isListFresh)) {
    return { kind: 'read-list', lostId: null };
  }
  if (facts.isListGone) {
    return {
      kind: 'blocked',
      reason: 'the service lists no address although it generated some before',
    };
  }
  if (facts.nextTryInMs > 0) {
    return {
      kind: 'blocked',
      reason: `refused by the service, tried again in ${Math.ceil(facts.nextTryInMs / 1_000)} s`,
    };
  }
  const allowance = limits.maxPerDay - facts.generated24h;
  if (allowance <= 0) {
    return {
      kind: 'blocked',
      reason: `POOL_MAX_PER_DAY is reached: ${facts.generated24h} generated in 24 h`,
    };
  }
  return { kind: 'request', num: Math.max(1, Math.min(wanted, facts.numMax, allowance, numLimit)) };
}

function decideOpen(open: OpenRequest, limits: PoolLimits): PoolAction {
  if (open.state === 'sent') {
    const isUnderWay = open.isOwnerAlive && open.ageMs < sentMaxMs;
    return isUnderWay ? { kind: 'busy' } : { kind: 'lose', id: open.id };
  }
  if (open.listReadAgeMs === null) return { kind: 'read-list', lostId: open.id };
  const leftMs = limits.settleMs - open.listReadAgeMs;
  return leftMs > 0 ? { kind: 'settle', ms: leftMs } : { kind: 'resolve', id: open.id };
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

/** How long a chain waits after so many refusals in a row: 15 s, doubling, at most 1 h. */
export function refusalDelayMs(refusals: number): number {
  return Math.min(3_600_000, 15_000 * 2 ** (refusals - 1));
}
