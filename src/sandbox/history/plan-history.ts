import type { SandboxOptions } from '../sandbox-options.ts';
import { fraction, purpose } from '../seeded-hash.ts';

type PlanOptions = Pick<SandboxOptions, 'seed' | 'transactions' | 'startedAt' | 'settleMs'>;

const historyMs = 2 * 365 * 86_400_000;
const freshMax = 24;

/** Returns the planned time of each transaction: those of the initial history, then the arrivals. Ascending. */
export function planTimes(options: PlanOptions & { arrivalsPerSecond: number }) {
  const { transactions, startedAt, arrivalsPerSecond } = options;
  const timeInHistory = planHistory(options);
  const intervalMs = 1_000 / arrivalsPerSecond;
  return (index: number): number =>
    index < transactions
      ? timeInHistory(index)
      : startedAt + Math.round((index - transactions + 1) * intervalMs);
}

/**
 * Returns the time of each transaction of the initial history, ascending. The times are spread over two years; one in
 * 256 equals the one before. The last few are so recent that their transactions are not final.
 */
export function planHistory(options: PlanOptions): (index: number) => number {
  const { seed, transactions, startedAt, settleMs } = options;
  const fresh = Math.min(freshMax, Math.floor(transactions / 40));
  const old = transactions - fresh;
  const from = startedAt - historyMs;
  const gap = (historyMs - 2 * settleMs) / Math.max(1, old);

  function oldTime(index: number): number {
    return Math.floor(from + gap * (index + 0.8 * fraction(seed, purpose.moment, index)));
  }

  return (index) => {
    if (index >= old) return startedAt - Math.ceil((settleMs * (transactions - index)) / fresh);
    const isTied = index > 0 && fraction(seed, purpose.tie, index) < 1 / 256;
    return oldTime(isTied ? index - 1 : index);
  };
}
