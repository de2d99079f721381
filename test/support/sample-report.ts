import type { FeedConsumer } from '../../src/ledger/feed/consumer-report.ts';
import type {
  CoverageStatus,
  PoolStatus,
  Problem,
  StreamStatus,
} from '../../src/ledger/reports/ledger-status.ts';
import type { DailyFlows } from '../../src/ledger/reports/read-flows.ts';
import type { StatusReport } from '../../src/status/status-report.ts';

export function sampleStream(changes: Partial<StreamStatus> = {}): StreamStatus {
  return {
    wallet: 'main',
    name: 'deposit',
    listOrder: 'newest-first',
    pageSize: 100,
    serviceTotal: 5_012,
    ledgerCount: 5_012,
    isComplete: true,
    finalChanges: 0,
    verifiedThrough: '2026-02-27T00:00:00Z',
    notCompleteBecause: null,
    lagSeconds: 3,
    lastError: null,
    ...changes,
  };
}

export function samplePool(changes: Partial<PoolStatus> = {}): PoolStatus {
  const level = { chain: 'Ethereum', available: 80, daysLeft: null, lastError: null };
  return { wallet: 'main', slip44: 60, threshold: 50, target: 100, ...level, ...changes };
}

export function sampleProblem(changes: Partial<Problem> = {}): Problem {
  return {
    name: 'rejects_open',
    severity: 'warning',
    since: '2026-03-01T11:00:00Z',
    what: '2 values could not be decoded',
    cure: '`wallet-ledger rejects` says why; once the service shows them readably, `wallet-ledger verify --repair` reads them again. After an update of wallet-ledger, `wallet-ledger rejects retry` decodes them again',
    ...changes,
  };
}

/** A webhook of the feed that refuses events. */
export function sampleWebhook(changes: Partial<FeedConsumer> = {}): FeedConsumer {
  return {
    name: 'shop',
    kind: 'webhook',
    position: 116,
    lagEvents: 3,
    lagSeconds: 720,
    state: 'failing',
    failingSince: '2026-03-01T11:48:00Z',
    lastError: 'it answered 500',
    ...changes,
  };
}

/** 400 days of one list; some were never verified. */
export function sampleCoverage(changes: Partial<CoverageStatus> = {}): CoverageStatus {
  const days = Array.from({ length: 100 }, (_, index) => ({
    day: new Date(Date.UTC(2026, 2, 1 - 99 + index)).toISOString().slice(0, 10),
    transactions: index,
    verifiedAt: index % 10 === 0 ? null : '2026-02-27T00:00:00Z',
  }));
  const older = { olderDays: 300, olderTransactions: 12_345, olderNeverVerified: 2 };
  return {
    wallet: 'main',
    stream: 'deposit',
    days,
    ...older,
    olderVerifiedThrough: '2026-01-01T00:00:00Z',
    ...changes,
  };
}

/** A report without problems. */
export function sampleReport(changes: Partial<StatusReport> = {}): StatusReport {
  const report = {
    readAt: '2026-03-01T12:00:00Z',
    streams: [sampleStream(), sampleStream({ name: 'withdraw' })],
    problems: [],
    coverage: [],
    transactions: {
      total: 10_024,
      incomplete: 3,
      final: 10_021,
      detailsToFetch: 0,
      detailsRefused: 0,
    },
    rejects: 0,
    processes: 2,
    feed: [],
    pools: [samplePool()],
    unexpectedDeposits: { foreign: 0, unknown: 0 },
    balances: [
      {
        wallet: 'main',
        symbol: 'BTC',
        chain: 'Bitcoin',
        balance: '1.50',
        frozen: '0.1',
        history: [
          { at: '2026-02-27T12:00:00Z', balance: '1' },
          { at: '2026-02-28T12:00:00Z', balance: '1.50' },
        ],
      },
    ],
    balanceCount: 1,
    unexplainedDifferences: [],
    lastRuns: [
      {
        wallet: 'main',
        job: 'transactions',
        startedAt: '2026-03-01T11:59:50Z',
        finishedAt: '2026-03-01T11:59:55Z',
        outcome: 'done',
        requests: 2,
        rowsSeen: 200,
        rowsInserted: 5,
        rowsUpdated: 1,
        error: null,
      },
    ],
    lastErrors: [],
    queue: {
      backend: 'postgres',
      waiting: 1,
      active: 2,
      failed: 0,
      isPaused: false,
      heldBy: null,
      refusal: null,
    },
    ...changes,
  } satisfies Partial<StatusReport>;
  const { transactions, rejects, unexpectedDeposits } = report;
  const counts = { transactions, rejects, unexpectedDeposits };
  return { wallets: [{ name: 'main', isResting: false, counts }], ...report };
}

/** 30 days up to the day of the sample report; one coin has movements on the last two. */
export function sampleFlows(changes: Partial<DailyFlows> = {}): DailyFlows {
  const days = Array.from({ length: 30 }, (_, index) =>
    new Date(Date.UTC(2026, 2, 1 - 29 + index)).toISOString().slice(0, 10),
  );
  const ending = <T>(rest: T, ...last: T[]): T[] => [
    ...Array.from({ length: days.length - last.length }, () => rest),
    ...last,
  ];
  return {
    days,
    deposits: ending(0, 12, 1_300),
    withdrawals: ending(0, 7),
    coins: [
      {
        symbol: 'BTC',
        deposit: { total: '0.75', daily: ending<string | null>(null, '0.25', '0.5') },
        withdraw: { total: '0.1', daily: ending<string | null>(null, '0.1') },
      },
    ],
    coinsOmitted: 0,
    ...changes,
  };
}
