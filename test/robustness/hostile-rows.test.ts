import { expect, test } from 'vitest';
import { programsGone } from '../support/programs-gone.ts';
import { runProgram } from '../support/run-cli.ts';
import {
  failingViews,
  type Query,
  sums,
  withListingService,
} from '../support/with-listing-service.ts';
import { hostileHistory, markOf, type StoredRow } from './hostile-history.ts';

/** For occasional manual runs with 100,000 rows: HOSTILE_ROWS=100000. */
const rowCount = Number(process.env['HOSTILE_ROWS'] ?? 20_000);

async function storedRows(query: Query): Promise<Map<string, StoredRow>> {
  const rows = (await query(`
    select order_no, request_id, symbol, tx_hash, to_address, amount::text, type, state,
           (extract(epoch from occurred_at) * 1000)::bigint::text as occurred_ms
      from ledger.transactions`)) as StoredRow[];
  return new Map(rows.map((row) => [row['order_no'] ?? '', row]));
}

async function storedRejects(query: Query): Promise<Set<string>> {
  const rows = (await query('select order_no, field, payload from ledger.rejects')) as StoredRow[];
  return new Set(
    rows.map(
      ({ order_no, field, payload }) => `${order_no ?? ''}|${field ?? ''}|${markOf(payload ?? '')}`,
    ),
  );
}

/** Number of written rows and begun transactions so far, without those of this query. */
async function counters(query: Query) {
  await programsGone(query);
  await query('select pg_stat_force_next_flush()');
  const written = await query(`
    select relname, n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables
     where schemaname = 'ledger' and relname not in ('streams', 'coverage', 'sync_runs', 'request_tickets')
       and relname not like 'reconciliation%' order by relname`);
  const [database] = await query(`
    select xact_commit::int as committed, xact_rollback::int as rolled_back
      from pg_stat_database where datname = current_database()`);
  return {
    written,
    committed: Number(database?.['committed']),
    rolledBack: Number(database?.['rolled_back']),
  };
}

async function expectAnswers(env: Record<string, string>, query: Query, rejects: number) {
  expect(await failingViews(query)).toEqual([]);
  for (const sum of await sums(query)) expect(sum).toMatch(/^-?\d+(\.\d+)?$/);
  const status = await runProgram(['status', '--json'], env);
  expect(status.code).toBe(0);
  expect(JSON.parse(status.stdout).rejects).toBe(rejects);
  const listed = await runProgram(['rejects', '--json'], env);
  expect(JSON.parse(listed.stdout).rejects).toHaveLength(rejects);
}

test(`[P11 V1 V2 V3 V4 V6 V7 V8 V9 V10 V11 V12 V15] of ${rowCount} rows, three in ten hostile, each good part is stored and each bad one kept as a reject, in one pass`, async () => {
  const { service, env, query } = await withListingService();
  const history = hostileHistory(rowCount, 7, Date.now());
  for (const [name, rows] of Object.entries(history.lists)) service.lists.set(name, rows);
  expect(history.hostile).toBeGreaterThan(rowCount / 4);

  await runProgram(['migrate'], env);
  const empty = await counters(query);
  const first = await runProgram(['backfill', '--no-details'], env);
  // Rows without a key are missing for good, and the service counts twins twice.
  expect(first.code, first.stderr).toBe(3);
  expect(await storedRows(query)).toEqual(history.stored);
  expect(await storedRejects(query)).toEqual(history.rejected);
  expect(await query('select order_no, field from ledger.transaction_changes')).toEqual([]);
  const before = await counters(query);
  // PostgreSQL received no row that it refuses, and no row cost a statement of its own.
  expect(before.rolledBack).toBe(empty.rolledBack);
  expect(before.committed - empty.committed).toBeLessThan(rowCount / 20);
  const [{ n: rejects } = {}] = await query('select count(*)::int as n from ledger.rejects');
  await expectAnswers(env, query, Number(rejects));

  service.asked.length = 0;
  const second = await runProgram(['backfill', '--no-details', '--restart'], env);
  expect(second.code).toBe(3);
  expect(service.asked.length).toBeGreaterThan(rowCount / 100);
  expect((await counters(query)).written).toEqual(before.written);
}, 300_000);
