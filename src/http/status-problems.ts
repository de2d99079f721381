import type { PoolStatus, StreamStatus, UnexplainedDifference } from '../ledger/read-status.ts';
import type { StatusReport } from './status-report.ts';
import { agoWords, countWords } from './status-words.ts';

/** What is not as it should be, and what to do about it. */
export type Problem = { what: string; cure: string };

/** Nothing is polled more seldom by default, so silence this long needs an explanation. */
const silenceMaxSeconds = 3_600;

/** Everything in the report that asks for someone's attention; empty when all is well. */
export function listProblems(report: StatusReport): Problem[] {
  return [
    // An empty pool stops customers first.
    ...report.pools.flatMap(poolProblems),
    ...(report.streams.length === 0 ? [nothingRead] : report.streams.flatMap(streamProblems)),
    ...jobProblems(report),
    ...rejectProblems(report.rejects),
    ...report.unexplainedDifferences.map(differenceProblem),
    ...queueProblems(report.queue),
  ];
}

const fill = 'run `wallet-ledger backfill`, or let `wallet-ledger start` go on';
const nothingRead: Problem = { what: 'nothing has been read from the service yet', cure: fill };

function streamProblems(stream: StreamStatus): Problem[] {
  const { name, lastError, lagSeconds } = stream;
  const problems: Problem[] = [];
  if (lastError !== null) {
    const cure = 'the next pass tries again; `wallet-ledger doctor` checks settings and service';
    problems.push({ what: `${name}: ${lastError}`, cure });
  }
  if (!stream.isComplete) problems.push(proofProblem(stream));
  if (lagSeconds !== null && lagSeconds > silenceMaxSeconds) {
    const what = `${name}: last read well ${agoWords(lagSeconds)}`;
    problems.push({ what, cure: 'see that `wallet-ledger start` runs' });
  }
  return problems;
}

function proofProblem({ name, serviceTotal, ledgerCount }: StreamStatus): Problem {
  if (serviceTotal === null) return { what: `${name}: not read to the end yet`, cure: fill };
  if (ledgerCount < serviceTotal) {
    const missing = countWords(serviceTotal - ledgerCount);
    const cure = `${fill}; ledger.rejects says what could not be stored`;
    return { what: `${name}: ${missing} of ${countWords(serviceTotal)} rows are missing`, cure };
  }
  if (ledgerCount > serviceTotal) {
    const surplus = ledgerCount - serviceTotal;
    const more = `${countWords(surplus)} ${surplus === 1 ? 'row' : 'rows'}`;
    const cure =
      'the service counts late or no longer lists rows; `wallet-ledger verify` names them';
    return { what: `${name}: the ledger holds ${more} more than the service counts`, cure };
  }
  return { what: `${name}: the counts are equal, but no complete walk proves it yet`, cure: fill };
}

function jobProblems({ lastRuns, streams }: StatusReport): Problem[] {
  const told = new Set(streams.map((stream) => stream.lastError));
  return lastRuns
    .filter(({ outcome, error }) => outcome === 'failed' && !told.has(error))
    .map(({ job, error }) => ({
      what: `${job}: the last run failed: ${error ?? 'no reason was given'}`,
      cure: 'it runs again by its schedule; `wallet-ledger doctor` checks settings and service',
    }));
}

function rejectProblems(rejects: number): Problem[] {
  if (rejects === 0) return [];
  const what = `${countWords(rejects)} ${rejects === 1 ? 'value' : 'values'} could not be decoded`;
  const cure = '`wallet-ledger rejects` says why, and `wallet-ledger rejects retry` tries again';
  return [{ what, cure }];
}

function differenceProblem({ symbol, amount, since }: UnexplainedDifference): Problem {
  const side = amount.startsWith('-') ? 'less' : 'more';
  const when = since.replace('T', ' ').replace('Z', ' UTC');
  return {
    what: `${symbol}: the balances hold ${amount.replace('-', '')} ${side} than the transactions add up to, since ${when}`,
    cure: 'run `wallet-ledger verify`; ledger.reconciliation has the sums',
  };
}

function poolProblems({ slip44, available, threshold, target, lastError }: PoolStatus): Problem[] {
  const pool = `the address pool of chain ${slip44}`;
  const left = available === 0 ? 'is empty' : `is down to ${countWords(available)} addresses`;
  if (lastError !== null && available < target) {
    const state = available < threshold ? ` ${left}, and` : '';
    const cure =
      'check rights and limits at the service, and POOL_MAX_PER_DAY; it is tried again by itself';
    return [{ what: `${pool}${state} could not be filled: ${lastError}`, cure }];
  }
  if (available >= threshold) return [];
  const cure = `run \`wallet-ledger pool refill ${slip44}\`, or let \`wallet-ledger start\` fill it`;
  return [{ what: `${pool} ${left}`, cure }];
}

function queueProblems(queue: StatusReport['queue']): Problem[] {
  if (queue === null) {
    return [{ what: 'the queue does not answer', cure: 'check REDIS_URL and that Redis runs' }];
  }
  if (queue.failed === 0) return [];
  const runs = queue.failed === 1 ? 'run' : 'runs';
  const what = `${countWords(queue.failed)} job ${runs} failed within the hour`;
  return [{ what, cure: 'see the last errors; each job runs again by its schedule' }];
}
