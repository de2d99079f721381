import type { SandboxOptions } from './sandbox-options.ts';
import { fraction, hash32, purpose } from './seeded-hash.ts';

/**
 * Kinds of faults. `rate-limit`: 429 with Retry-After. `server-error`: 500. `html`: a web page with 200. `error-code`:
 * 200 with a `code` other than 0. `reset`, `hang`: the connection is reset, at once or after a silence.
 * `unauthorized`: 401. None of these seven does the work of the request.
 * `cut-body`: does the work, but the answer ends half-way. `lost-answer` (POST only): does the work, then resets the
 * connection.
 */
export const faultKinds = [
  'rate-limit',
  'server-error',
  'html',
  'error-code',
  'cut-body',
  'reset',
  'hang',
  'lost-answer',
  'unauthorized',
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** Settings of a wallet's faults, which may be changed at any time. */
export type Faults = {
  /** Share of the requests with a fault, 0 to 1. */
  rate: number;
  /** Kinds that `rate` draws from. Null: all but `lost-answer` and `unauthorized`, with `hang` once in 50 faults. */
  kinds: FaultKind[] | null;
  /** Share of the address generations whose answer is lost, 0 to 1. */
  lostPostRate: number;
  /** Faults for the next requests, one each; `lost-answer` waits for a POST. */
  next: FaultKind[];
  /** Ms of silence of the fault `hang`. */
  hangMs: number;
  /** Factor on the delay of each answer, which then counts as at least 10 ms; 1: none. */
  slowdown: number;
  /** Added to the `totalSize` of each list; 0: none. */
  totalError: number;
  /** Limits all of this to paths that contain this text; null: all paths. */
  match: string | null;
};

export type FaultPicker = (call: { method: string; path: string }) => FaultKind | null;

/** Returns the settings at the start. */
export function createFaults({
  faultRate,
  hangMs,
}: Pick<SandboxOptions, 'faultRate' | 'hangMs'>): Faults {
  return {
    rate: faultRate,
    kinds: null,
    lostPostRate: 0,
    next: [],
    hangMs,
    slowdown: 1,
    totalError: 0,
    match: null,
  };
}

/** Returns true if the faults apply to the path. */
export function isMatched({ match }: Faults, path: string): boolean {
  return match === null || path.includes(match);
}

const slowedMsMin = 10;

/** Returns the milliseconds to wait before the answer at the path. */
export function delayOf(faults: Faults, path: string, latencyMs: number): number {
  if (faults.slowdown === 1 || !isMatched(faults, path)) return latencyMs;
  return Math.max(latencyMs, slowedMsMin) * faults.slowdown;
}

const oftenKinds = faultKinds.slice(0, 6);
const hangShare = 1 / 50;

/** Creates the function that draws faults from the seed and the number of requests so far. */
export function createFaultPicker(seed: number, faults: Faults): FaultPicker {
  let drawn = 0;

  function drawKind(method: string): FaultKind | null {
    const draw = hash32(seed, purpose.faultKind, drawn);
    if (faults.kinds === null && draw / 2 ** 32 < hangShare) return 'hang';
    const allowed = (faults.kinds ?? oftenKinds).filter((kind) => isPossible(kind, method));
    return allowed[draw % allowed.length] ?? null;
  }

  return ({ method, path }) => {
    if (!isMatched(faults, path)) return null;
    const waiting = faults.next.findIndex((kind) => isPossible(kind, method));
    if (waiting >= 0) return faults.next.splice(waiting, 1)[0] ?? null;
    drawn++;
    if (method === 'POST' && fraction(seed, purpose.lostPost, drawn) < faults.lostPostRate) {
      return 'lost-answer';
    }
    return fraction(seed, purpose.fault, drawn) < faults.rate ? drawKind(method) : null;
  };
}

function isPossible(kind: FaultKind, method: string): boolean {
  return kind !== 'lost-answer' || method === 'POST';
}
