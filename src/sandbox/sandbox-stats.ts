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

/** What the sandbox has seen since the start or the last reset. */
export type SandboxStats = {
  /** Requests by endpoint, refused and faulty ones included. */
  requests: Record<EndpointPath, number>;
  /** Requests of the transaction list by its type filter. */
  listRequests: { deposit: number; withdraw: number; all: number };
  /** Distinct nonces. */
  nonces: number;
  noncesReused: number;
  /** Requests refused for missing headers, a wrong key or a wrong signature. */
  signatureFailures: number;
  /** 429 answers for the rate; those of the fault are counted there. */
  tooManyRequests: number;
  faults: Record<FaultKind, number>;
  /** The most requests that came within one second of the clock. */
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
    busiestSecond: 0,
  };
}

/** Notes the pace of the requests in the stats. */
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

/** A bucket that holds the requests of one second; false when it is empty. `rate` 0: never empty. */
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
