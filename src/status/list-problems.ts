import { countWords } from '../kernel/count-words.ts';
import type { LedgerStatus, Problem } from '../ledger/reports/ledger-status.ts';
import type { QueueSnapshot } from '../queue/queue-snapshot.ts';

/**
 * Facts that problems are derived from. `queue` is null if it does not answer. `unseenQueue`: the reason, in words, why
 * this process cannot see the queue, which is null then.
 */
export type ProblemFacts = Pick<LedgerStatus, 'problems'> & {
  queue: QueueSnapshot | null;
  unseenQueue?: string;
};

/** `attention`: there are only warnings. */
export type Verdict = 'ok' | 'attention' | 'critical';

/** Upper bound of due job runs that is normal at any moment. */
const waitingMax = 20;
/** Upper bound of failed runs per hour that is normal, because each job runs again on schedule. */
const failedMax = 5;

/**
 * Lists everything that needs a person; critical problems first. If this process sees the queue itself, it uses only
 * the start times of the queue's problems in the database.
 */
export function listProblems(report: ProblemFacts): Problem[] {
  const isSeen = report.queue !== null || report.unseenQueue === undefined;
  const stored = report.problems.filter(({ name }) => !isSeen || !ofQueue.has(name));
  const seen = queueProblems(report).map((problem) => ({
    ...problem,
    since: report.problems.find(({ name }) => name === problem.name)?.since ?? null,
  }));
  const all = [...stored, ...seen];
  return [...all.filter(isCritical), ...all.filter((problem) => !isCritical(problem))];
}

/** Returns the verdict of the worst problem. */
export function verdictOn(problems: readonly Problem[]): Verdict {
  if (problems.some(isCritical)) return 'critical';
  return problems.length > 0 ? 'attention' : 'ok';
}

function isCritical({ severity }: Problem): boolean {
  return severity === 'critical';
}

const ofQueue = new Set(['queue_unreachable', 'queue_stuck', 'queue_failing', 'queue_held']);

/** Lists the queue's problems, without a start time: the queue has counts only. */
export function queueProblems({ queue, unseenQueue, problems }: ProblemFacts): Problem[] {
  if (queue === null) return unseenQueue ? [] : [unreachable];
  const { waiting, active, failed, isPaused, heldBy, refusal } = queue;
  // A job may be due and none active between two runs. This is a problem only if the daemons are silent too.
  const isIdle =
    waiting > 0 && active === 0 && problems.some(({ name }) => name === 'daemon_silent');
  const isStuck = waiting > waitingMax || isIdle;
  return [
    ...(refusal === null ? [] : [refusing(refusal, queue.backend)]),
    ...(isPaused ? [pausedBy(queue.backend)] : []),
    ...(refusal === null && !isPaused && isStuck ? [stuck(waiting)] : []),
    ...(failed > failedMax ? [failing(failed)] : []),
    ...(heldBy === null ? [] : [held(heldBy)]),
  ];
}

const unreachable: Problem = {
  name: 'queue_unreachable',
  severity: 'critical',
  since: null,
  what: 'the queue does not answer',
  cure: 'check REDIS_URL and that Redis runs; without REDIS_URL the queue is in PostgreSQL: `wallet-ledger migrate` creates its tables if they are missing',
};

function stuck(waiting: number): Problem {
  return {
    name: 'queue_stuck',
    severity: 'critical',
    since: null,
    what: `${countWords(waiting)} job ${waiting === 1 ? 'run is' : 'runs are'} due and not started`,
    cure: 'check that `wallet-ledger start` runs; if it does, its log says what keeps its worker, in lines that begin with `queue:`',
  };
}

function pausedBy(backend: QueueSnapshot['backend']): Problem {
  const resume =
    backend === 'postgres'
      ? "run `select queue.pause('wallet-ledger', false)` in its database, with your QUEUE_PREFIX as the name"
      : 'resume it with BullMQ';
  return {
    name: 'queue_stuck',
    severity: 'critical',
    since: null,
    what: 'the queue is paused: no job run starts until it is resumed',
    cure: `${resume} (docs/operations.md, WalletLedgerQueueStuck); a restart does not resume it`,
  };
}

function refusing(refusal: string, backend: QueueSnapshot['backend']): Problem {
  return {
    name: 'queue_stuck',
    severity: 'critical',
    since: null,
    what: `no job run can be queued or ended: ${refusal}`,
    cure:
      backend === 'postgres'
        ? 'let DATABASE_URL name the primary server, or end what made its database read-only: a failover, a full disk, or default_transaction_read_only'
        : 'give Redis more memory (maxmemory), or let REDIS_URL name the primary',
  };
}

function held(holder: string): Problem {
  return {
    name: 'queue_held',
    severity: 'warning',
    since: null,
    what: `the queue waits for locks that another session holds, and job runs come late: ${holder}`,
    cure: 'end that session (`select pg_terminate_backend(PROCESS)`), and keep its role from connecting',
  };
}

function failing(failed: number): Problem {
  return {
    name: 'queue_failing',
    severity: 'warning',
    since: null,
    what: `${countWords(failed)} job runs failed within the last hour`,
    cure: '`wallet-ledger status` lists the last errors, `wallet-ledger doctor` checks settings, signature, clock and service; each job runs again on schedule',
  };
}
