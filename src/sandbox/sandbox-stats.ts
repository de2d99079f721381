import type { Clock } from '../kernel/clock.ts';
import { type FaultKind, faultKinds } from './sandbox-faults.ts';

const endpointPaths = [
  '/v1/wallet/address',
  '/v1/wallet/address/list',
  '/v1/transaction/list',
  '/v1/transaction/info',
  '/v1/wallet/balance',
  '/v1/wallet/coin',
] as const;

export type EndpointPath = (typeof endpointPaths)[number];

/** Counts since the start or the last reset. */
export type SandboxStats = {
  /** Requests by endpoint, including refused and faulty ones. */
  requests: Record<EndpointPath, number>;
  /** Requests of the transaction list by its type filter. */
  listRequests: { deposit: number; withdraw: number; all: number };
  /** Authenticated requests with a fresh nonce. */
  nonces: number;
  noncesReused: number;
  /** Requests refused for missing headers, a wrong key or a wrong signature. */
  signatureFailures: number;
  /** Answers with 429 for the rate; those of the fault are counted in `faults`. */
  tooManyRequests: number;
  faults: Record<FaultKind, number>;
  /** Hints that were pushed, by whether they were accepted. */
  pushes: { sent: number; failed: number };
  /** Highest number of requests within one second of the clock. */
  busiestSecond: number;
  reset(): void;
};

export function createStats(): SandboxStats {
  const stats: SandboxStats = { ...zeroes(), reset: () => Object.assign(stats, zeroes()) };
  return stats;
}

function zeroes(): Omit<SandboxStats, 'reset'> {
  const count = <K extends string>(keys: readonly K[]) =>
    Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>;
  return {
    requests: count(endpointPaths),
    listRequests: { deposit: 0, withdraw: 0, all: 0 },
    nonces: 0,
    noncesReused: 0,
    signatureFailures: 0,
    tooManyRequests: 0,
    faults: count(faultKinds),
    pushes: { sent: 0, failed: 0 },
    busiestSecond: 0,
  };
}

/** Returns the function that records one request in `busiestSecond`. */
export function createPaceWatch(stats: SandboxStats, clock: Clock): () => void {
  let second = 0;
  let count = 0;
  return () => {
    const current = Math.floor(clock() / 1_000);
    count = current === second ? count + 1 : 1;
    second = current;
    stats.busiestSecond = Math.max(stats.busiestSecond, count);
  };
}

/**
 * Creates a token bucket that holds the requests of one second. The function returns false when it is empty. `rate` 0:
 * no limit.
 */
export function createRateLimit(rate: number, clock: Clock): () => boolean {
  const capacity = Math.max(1, rate);
  let level = capacity;
  let last = clock();
  return () => {
    if (rate === 0) return true;
    const now = clock();
    level = Math.min(capacity, level + ((now - last) * rate) / 1_000);
    last = now;
    if (level < 1) return false;
    level -= 1;
    return true;
  };
}
