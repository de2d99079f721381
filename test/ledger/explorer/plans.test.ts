import { type SQL, sql } from 'drizzle-orm';
import { beforeAll, expect, test } from 'vitest';
import type { LedgerDb } from '../../../src/ledger/connection/connect-ledger.ts';
import { readBriefly } from '../../../src/ledger/connection/read-briefly.ts';
import { findByReference } from '../../../src/ledger/reports/explorer/find-by-reference.ts';
import { listRejects, listRuns } from '../../../src/ledger/reports/explorer/list-records.ts';
import { listTransactions } from '../../../src/ledger/reports/explorer/list-transactions.ts';
import { readBalanceCourse } from '../../../src/ledger/reports/explorer/read-balance-course.ts';
import { readCoinFlow } from '../../../src/ledger/reports/explorer/read-coin-flow.ts';
import {
  listCoins,
  readChoices,
  readCoin,
} from '../../../src/ledger/reports/explorer/read-coins.ts';
import {
  listRequests,
  readPoolSteps,
  readPools,
} from '../../../src/ledger/reports/explorer/read-pools.ts';
import { readPostings } from '../../../src/ledger/reports/explorer/read-postings.ts';
import {
  listProofs,
  readCoveredDays,
  readCoveredYears,
} from '../../../src/ledger/reports/explorer/read-proofs.ts';
import {
  findAddress,
  findIndexed,
  findOrder,
} from '../../../src/ledger/transactions/find-records.ts';
import { filterBy, manyRows } from '../../support/explorer-rows.ts';
import { withLedger } from '../../support/with-ledger.ts';

const { ledger, fill } = await withLedger();
const growing =
  /Seq Scan on (transactions|transaction_changes|balance_changes|addresses|rejects|sync_runs|reconciliation_runs|address_requests|stream_proofs)\b/;

beforeAll(async () => {
  await fill(manyRows(40_000), 'vacuum (analyze)');
}, 300_000);

/** Runs a read of a page, and returns the plan of each of its statements. */
async function plansOf(read: (db: LedgerDb) => Promise<unknown>): Promise<string[]> {
  const plans: string[] = [];
  await readBriefly(ledger, async (db) => {
    const execute = async (statement: SQL) => {
      const { rows } = await db.execute<{ 'QUERY PLAN': string }>(sql`explain ${statement}`);
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return await db.execute(statement);
    };
    // Only `execute` is used by the reads.
    await read({ execute } as unknown as LedgerDb);
  });
  return plans;
}

const address = '0xc4ca4238a0b923820dcc509a6f75849b';
const position = { time: '2026-01-01 00:00:00+00', orderNo: 'order-1' };
const asset = { slip44: 60, symbol: 'COIN7', contractAddress: '' };

test.each<[string, (db: LedgerDb) => Promise<unknown>]>([
  ['the latest transactions', (db) => listTransactions(db, filterBy())],
  ['transactions behind a place', (db) => listTransactions(db, filterBy({ before: position }))],
  ['transactions of a coin', (db) => listTransactions(db, filterBy({ coin: 'COIN7' }))],
  ['transactions of an unknown coin', (db) => listTransactions(db, filterBy({ coin: 'NONE' }))],
  ['transactions of a chain', (db) => listTransactions(db, filterBy({ chain: 714 }))],
  [
    'transactions of a list, a state, an amount and a period',
    (db) =>
      listTransactions(
        db,
        filterBy({
          stream: 'deposit',
          state: 'failed',
          min: '5',
          from: '2024-01-01',
          to: '2026-12-31',
        }),
      ),
  ],
  ['open transactions', (db) => listTransactions(db, filterBy({ isOpen: true }))],
  ['transactions to an address', (db) => listTransactions(db, filterBy({ address }))],
  ['transactions from an address', (db) => listTransactions(db, filterBy({ sender: address }))],
  ['a search', (db) => findIndexed(db, 'order-77')],
  ['a reference', (db) => findByReference(db, 'customer 77')],
  ['an order', (db) => findOrder(db, 'order-77')],
  ['postings of an order', (db) => readPostings(db, 'order-77')],
  ['pools', (db) => readPools(db)],
  ['levels of a pool', (db) => readPoolSteps(db, 60, { days: 30, stepHours: 4 })],
  ['requests for addresses', (db) => listRequests(db, 9_000)],
  ['covered years', (db) => readCoveredYears(db)],
  ['covered days', (db) => readCoveredDays(db, 2_026)],
  ['changes of the proof', (db) => listProofs(db, 9_000)],
  ['an address', (db) => findAddress(db, address)],
  ['coins', (db) => listCoins(db, null)],
  ['a coin', (db) => readCoin(db, 'COIN7')],
  ['an unknown coin', (db) => readCoin(db, 'NONE')],
  ['the choices of the filters', (db) => readChoices(db)],
  ['flows of a coin', (db) => readCoinFlow(db, 'COIN7')],
  ['the history of a balance', (db) => readBalanceCourse(db, asset, 90)],
  ['the whole history of a balance', (db) => readBalanceCourse(db, asset, null)],
  ['open rejects', (db) => listRejects(db, { isAll: false, before: null })],
  ['all rejects', (db) => listRejects(db, { isAll: true, before: 40_000 })],
  ['runs', (db) => listRuns(db, { job: null, isFailed: false, before: null })],
  ['failed runs of a job', (db) => listRuns(db, { job: 'job-3', isFailed: true, before: null })],
])('%s: read through an index, not row by row', async (_what, read) => {
  const plans = await plansOf(read);
  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans) expect(plan).not.toMatch(growing);
});

test('a query without an index is detected: the plans above would show it', async () => {
  const [plan] = await plansOf((db) =>
    db.execute(sql`select count(*) from ledger.transactions where amount > 5`),
  );
  expect(plan).toMatch(growing);
});
