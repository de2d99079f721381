import { fraction, hash32, purpose } from './seeded-hash.ts';

/**
 * `rate-limit`: 429 with Retry-After. `server-error`: 500. `html`: a web page with 200. `error-code`: 200 with
 * a `code` other than 0. In these four nothing is done. `reset`, `hang`: nothing is done, the connection is
 * reset at once or after a silence. `cut-body`: done, but the answer ends half-way. `lost-answer` (POST only):
 * done, then the connection is reset.
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
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** May be changed at any time. */
export type Faults = {
  /** Share of the requests that meet a fault, 0 to 1. */
  rate: number;
  /** The kinds that the rate draws from; null: all but `lost-answer`, `hang` one time in fifty. */
  kinds: FaultKind[] | null;
  /** Share of the address generations whose answer is lost, 0 to 1. */
  lostPostRate: number;
  /** Faults for the next requests, one each; `lost-answer` waits for a POST. */
  next: FaultKind[];
  /** Only paths that contain this text meet faults; null: all. */
  match: string | null;
};

export type FaultPicker = (call: { method: string; path: string }) => FaultKind | null;

const oftenKinds = faultKinds.slice(0, 6);
const hangShare = 1 / 50;

/** Draws by the seed and the number of requests so far. */
export function createFaultPicker(seed: number, faults: Faults): FaultPicker {
  let drawn = 0;

  function drawKind(method: string): FaultKind | null {
    const draw = hash32(seed, purpose.faultKind, drawn);
    if (faults.kinds === null && draw / 2 ** 32 < hangShare) return 'hang';
    const allowed = (faults.kinds ?? oftenKinds).filter((kind) => isPossible(kind, method));
    return allowed[draw % allowed.length] ?? null;
  }

  return ({ method, path }) => {
    if (faults.match !== null && !path.includes(faults.match)) return null;
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
