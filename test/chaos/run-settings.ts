import type { ChaosOptions } from './chaos-options.ts';
import type { AnswerRates } from './http-fault-proxy.ts';

/** Settings of a run: service, consumers and program. */
export type RunSettings = {
  history: number;
  verifyShare: number;
  slip44s: number[];
  pageSizeMax: number;
  addressListLagMs: number;
  oddRows: number;
  allPlain: boolean;
  newestFirst: boolean;
  poolMaxPerDay: number;
  /** Undefined: off. */
  maxRps: number | undefined;
  consumers: { count: number; pauseMs: number };
  /** Pause between two steps of the service's life. */
  lifePauseMs: number;
  backfillArgs: string[];
  /** Pause before a one-off command is started again. */
  oneOffPauseMs: number;
  rates: Pick<AnswerRates, 'bad' | 'lostPost' | 'unsentPost' | 'pausing'>;
  env: Record<string, string>;
};

const usualChains = [0, 60, 195, 501];
/** Few chains, so that moves follow each other quickly: after each move every list of addresses is read again. */
const movedChains = [60, 195];
/** A chain that is being filled uses an extra connection in every process. */
const manyChains = Array.from({ length: 10 }, (_, index) => index);

/**
 * Chooses the request budget. The guarantees for the time after a move hold at 10 requests a second; with 100, moves
 * follow each other faster.
 */
function chooseBudget(focus: ChaosOptions['focus'], isOdd: boolean): number | undefined {
  if (focus === 'moves') return isOdd ? 10 : 100;
  return focus === null && isOdd ? 100 : undefined;
}

/**
 * Short intervals, so that many events fit into a minute; seeds differ in the order of the lists and the request
 * budget.
 */
export function chooseSettings({ focus, seed, minutes, hasBooks }: ChaosOptions): RunSettings {
  const isAnswers = focus === 'answers';
  const isPosts = focus === 'posts';
  const isMoves = focus === 'moves';
  const slip44s = isPosts ? manyChains : isMoves ? movedChains : usualChains;
  const pool = isPosts ? '10:12' : isMoves ? '10:25' : '15:40';
  const poolMaxPerDay = Math.ceil(2_000 + 1_000 * minutes);
  const maxRps = hasBooks ? undefined : chooseBudget(focus, seed % 2 === 1);
  const pageSizeMax = isAnswers ? 20 : isMoves || hasBooks ? 200 : 50;
  return {
    history: hasBooks ? 100_000 : isAnswers ? 20_000 : isMoves ? 150 : 1_500,
    // The signatures of two hundred thousand requests alone would occupy one processor.
    verifyShare: hasBooks ? 0.02 : isAnswers ? 0.1 : 1,
    slip44s,
    pageSizeMax,
    addressListLagMs: 200,
    oddRows: hasBooks ? 0 : 20,
    allPlain: hasBooks,
    newestFirst: seed % 4 < 2,
    poolMaxPerDay,
    maxRps,
    consumers: isPosts ? { count: 4, pauseMs: 2 } : { count: 2, pauseMs: 150 },
    lifePauseMs: isMoves ? 4_000 : 200,
    // Repeated full scans: no other setting sends as many requests.
    backfillArgs: isAnswers ? ['backfill', '--restart'] : ['backfill'],
    // Their start takes as much of the processor as a move.
    oneOffPauseMs: isMoves ? 30_000 : 2_000,
    rates: {
      bad: isAnswers ? 0.2 : focus === null ? 0.03 : isMoves ? 0.002 : 0.01,
      lostPost: isPosts ? 0.6 : focus === null ? 0.1 : 0.03,
      // A refusal is followed by its own pause, which would look like a slow recovery.
      unsentPost: isMoves ? 0 : 0.03,
      pausing: isAnswers ? 0.05 : 1,
    },
    env: {
      WALLET_TIMEOUT: '3s',
      WALLET_PAGE_SIZE: String(pageSizeMax),
      WALLET_CONCURRENCY: hasBooks ? '16' : '8',
      WALLET_MAX_RPS: maxRps === undefined ? 'off' : String(maxRps),
      DATABASE_POOL_SIZE: '5',
      SYNC_TRANSACTIONS_EVERY: '1s',
      SYNC_DETAILS_EVERY: '1s',
      SYNC_BALANCES_EVERY: isMoves ? '10s' : '2s',
      SYNC_COINS_EVERY: '10s',
      SYNC_ADDRESSES_EVERY: '5s',
      FILL_POOLS_EVERY: '1s',
      AUDIT_EVERY: isMoves ? '15s' : '3s',
      AUDIT_CYCLE: '30s',
      ADDRESS_POOLS: slip44s.map((slip44) => `${slip44}:${pool}`).join(','),
      POOL_MAX_PER_DAY: String(poolMaxPerDay),
      POOL_SETTLE: '500ms',
      HTTP_PORT: '0',
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'json',
    },
  };
}
