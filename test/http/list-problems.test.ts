import { expect, test } from 'vitest';
import { listProblems, verdictOn } from '../../src/status/list-problems.ts';
import { nameWallet } from '../../src/status/name-wallet.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import { sampleProblem, sampleReport } from '../support/sample-report.ts';

const silent = sampleProblem({ name: 'daemon_silent', severity: 'critical' });

function namesOf(changes: Partial<StatusReport>): string[] {
  return listProblems(sampleReport(changes)).map(({ name }) => name);
}

function queueOf(counts: {
  waiting?: number;
  active?: number;
  failed?: number;
  isPaused?: boolean;
  heldBy?: string;
  refusal?: string;
}) {
  return {
    queue: {
      backend: 'redis' as const,
      waiting: 0,
      active: 0,
      failed: 0,
      isPaused: false,
      heldBy: null,
      refusal: null,
      ...counts,
    },
  };
}

test('a report without problems is ok, warnings ask for attention, one critical problem is critical', () => {
  expect(verdictOn(listProblems(sampleReport()))).toBe('ok');
  expect(verdictOn([sampleProblem()])).toBe('attention');
  expect(verdictOn([sampleProblem(), silent])).toBe('critical');
});

test('critical problems come first, the queue among them', () => {
  expect(namesOf({ problems: [sampleProblem()], queue: null })).toEqual([
    'queue_unreachable',
    'rejects_open',
  ]);
});

test('a queue that the role may not see has the problems that a daemon has told the database', () => {
  expect(namesOf({ queue: null, unseenQueue: 'not visible' })).toEqual([]);
  const problems = [sampleProblem({ name: 'queue_stuck', severity: 'critical' })];
  expect(namesOf({ problems, queue: null, unseenQueue: 'not visible' })).toEqual(['queue_stuck']);
});

test('of a queue that is seen only the start of a problem is as a daemon has told it', () => {
  const since = '2025-01-01T00:00:00.000Z';
  const problems = ['queue_stuck', 'queue_held'].map((name) => sampleProblem({ name, since }));
  expect(namesOf({ problems, ...queueOf({}) })).toEqual([]);
  expect(listProblems(sampleReport({ problems, ...queueOf({ isPaused: true }) }))).toEqual([
    expect.objectContaining({
      name: 'queue_stuck',
      severity: 'critical',
      since,
      what: expect.stringContaining('paused'),
    }),
  ]);
});

test('runs that are due for a moment, or failed now and then, are no problem', () => {
  expect(namesOf(queueOf({ waiting: 3, failed: 5 }))).toEqual([]);
  expect(namesOf(queueOf({ waiting: 21, active: 1 }))).toEqual(['queue_stuck']);
  expect(namesOf(queueOf({ failed: 6 }))).toEqual(['queue_failing']);
});

test('a session that holds the locks of the queue is named', () => {
  const [problem] = listProblems(sampleReport(queueOf({ heldBy: 'process 12, role reader' })));
  expect(problem).toMatchObject({
    name: 'queue_held',
    severity: 'warning',
    what: expect.stringContaining('process 12, role reader'),
  });
});

test('a server that stores nothing for the queue is the problem queue_stuck, whatever waits', () => {
  const queue = queueOf({ waiting: 21, refusal: 'Redis is full' });
  expect(listProblems(sampleReport(queue))).toMatchObject([
    { name: 'queue_stuck', severity: 'critical', what: expect.stringContaining('Redis is full') },
  ]);
});

test('a paused queue is the problem queue_stuck at once, whatever waits', () => {
  for (const waiting of [0, 21])
    expect(listProblems(sampleReport(queueOf({ isPaused: true, waiting })))).toMatchObject([
      {
        name: 'queue_stuck',
        severity: 'critical',
        what: expect.stringContaining('is paused'),
        cure: expect.stringContaining('resume it with BullMQ'),
      },
    ]);
});

test('runs that are due while no worker runs are the problem queue_stuck', () => {
  const problems = [silent];
  expect(namesOf({ ...queueOf({ waiting: 1 }), problems })).toEqual([
    'daemon_silent',
    'queue_stuck',
  ]);
  expect(namesOf({ ...queueOf({ waiting: 1, active: 1 }), problems })).toEqual(['daemon_silent']);
});

test('where there are several wallets, a cure names the wallet of each command that concerns one', () => {
  const cure =
    'run `wallet-ledger verify`, then `wallet-ledger pool refill 60 --resume`, or `wallet-ledger start`';
  expect(nameWallet(cure, 'eu', ['eu', 'us'])).toBe(
    'run `wallet-ledger verify --wallet eu`, then `wallet-ledger pool refill 60 --resume --wallet eu`, or `wallet-ledger start`',
  );
  for (const [wallet, wallets] of [
    ['main', ['main']],
    ['', ['eu', 'us']],
  ] as const)
    expect(nameWallet(cure, wallet, wallets)).toBe(cure);
});
