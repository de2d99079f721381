import type { Context } from 'hono';
import { listRejects, listRuns } from '../../ledger/reports/explorer/list-records.ts';
import { readBalanceCourse } from '../../ledger/reports/explorer/read-balance-course.ts';
import { readChains } from '../../ledger/reports/explorer/read-chains.ts';
import { readCoinFlow } from '../../ledger/reports/explorer/read-coin-flow.ts';
import { listCoins, readCoin } from '../../ledger/reports/explorer/read-coins.ts';
import {
  listRequests,
  readPoolSteps,
  readPools,
} from '../../ledger/reports/explorer/read-pools.ts';
import {
  listProofs,
  readCoveredDays,
  readCoveredYears,
} from '../../ledger/reports/explorer/read-proofs.ts';
import { listProblems } from '../../status/list-problems.ts';
import type { StatusReport } from '../../status/status-report.ts';
import type { Answer, ReadLedger } from './answer-page.ts';
import { coinFacts, coinList, periods } from './coin-pages.ts';
import { type PoolPeriodName, poolPeriods, poolsPage } from './pools-page.ts';
import { proofPage } from './proof-page.ts';
import { queryOf, readId, readText, readWord, readYear } from './query-params.ts';
import { problemList, rejectList, runList } from './record-pages.ts';

type ReadStatus = () => Promise<StatusReport>;

/** Upper bound of the assets of a coin, and of the pools, for which a chart is drawn. */
const coursesMax = 12;
const poolPeriodNames = Object.keys(poolPeriods) as PoolPeriodName[];

/** Answers with a page of the list of coins. */
export async function coinsPage(c: Context, read: ReadLedger): Promise<Answer> {
  const after = readText(queryOf(c, ['after']), 'after');
  const coins = await read((db) => listCoins(db, after));
  return { page: { title: 'Coins', current: 'coins', content: coinList(coins, after) } };
}

/** Answers with the page of a coin. */
export async function coinPage(c: Context, symbol: string, read: ReadLedger): Promise<Answer> {
  const period = readWord(queryOf(c, ['days']), 'days', periods) ?? '90';
  const days = period === 'all' ? null : Number(period);
  const found = await read(async (db) => {
    const report = await readCoin(db, symbol);
    if (!report) return null;
    const courses = [];
    for (const asset of report.assets.slice(0, coursesMax))
      courses.push(await readBalanceCourse(db, { ...asset, symbol }, days));
    const flow = await readCoinFlow(db, symbol);
    return { report, courses, flow, chains: await readChains(db) };
  });
  if (!found) return { nothingIn: 'coins' };
  const { report, ...rest } = found;
  return {
    page: { title: symbol, current: 'coins', content: coinFacts(report, { ...rest, period }) },
  };
}

/** Answers with the address pools over time. */
export async function poolsOverTime(c: Context, read: ReadLedger): Promise<Answer> {
  const asked = queryOf(c, ['days', 'before']);
  const period = readWord(asked, 'days', poolPeriodNames) ?? '30';
  const before = readId(asked, 'before');
  const found = await read(async (db) => {
    const pools = await readPools(db);
    const steps = [];
    for (const { slip44 } of pools.slice(0, coursesMax))
      steps.push(await readPoolSteps(db, slip44, poolPeriods[period]));
    const requests = await listRequests(db, before);
    return { pools, steps, requests, chains: await readChains(db) };
  });
  return {
    page: { title: 'Address pools', current: 'pools', content: poolsPage(found, period) },
  };
}

/** Answers with the proof that the ledger is complete. */
export async function proofOverTime(
  c: Context,
  read: ReadLedger,
  readStatus: ReadStatus,
): Promise<Answer> {
  const asked = queryOf(c, ['year', 'before']);
  const yearAsked = readYear(asked);
  const before = readId(asked, 'before');
  const { streams, readAt } = await readStatus();
  const year = yearAsked ?? Number(readAt.slice(0, 4));
  const found = await read(async (db) => ({
    years: await readCoveredYears(db),
    lists: await readCoveredDays(db, year),
    changes: await listProofs(db, before),
  }));
  const content = proofPage({ ...found, streams, year, readAt });
  return { page: { title: 'Proof of completeness', current: 'proof', content } };
}

/** Answers with a page of the values that could not be decoded. */
export async function rejectsPage(c: Context, read: ReadLedger): Promise<Answer> {
  const asked = queryOf(c, ['before', 'show']);
  const before = readId(asked, 'before');
  const isAll = readWord(asked, 'show', ['open', 'all']) === 'all';
  const rejects = await read((db) => listRejects(db, { isAll, before }));
  return { page: { title: 'Rejects', current: 'rejects', content: rejectList(rejects, isAll) } };
}

/** Answers with a page of the runs of the jobs. */
export async function runsPage(
  c: Context,
  read: ReadLedger,
  readStatus: ReadStatus,
): Promise<Answer> {
  const asked = queryOf(c, ['job', 'outcome', 'before']);
  const job = readText(asked, 'job');
  const isFailed = readWord(asked, 'outcome', ['failed']) !== null;
  const before = readId(asked, 'before');
  const runs = await read((db) => listRuns(db, { job, isFailed, before }));
  const jobs = (await readStatus()).lastRuns.map((run) => run.job);
  return {
    page: { title: 'Runs', current: 'runs', content: runList(runs, { job, isFailed, jobs }) },
  };
}

/** Answers with the problems that need a person. */
export async function problemsPage(c: Context, readStatus: ReadStatus): Promise<Answer> {
  queryOf(c, []);
  const report = await readStatus();
  const content = problemList(listProblems(report), report.readAt);
  return { page: { title: 'Problems', current: 'problems', content } };
}
