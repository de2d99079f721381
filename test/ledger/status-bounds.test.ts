import { expect, test } from 'vitest';
import { readStatus } from '../../src/ledger/reports/read-status.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();

test('values that an earlier version stored without a limit are cut before they leave the database', async () => {
  await query(`
    insert into ledger.balances (slip44, symbol, contract_address, name, balance, frozen, decimals, observation, observed_at, changed_at)
    select 60, 'S' || n, '', 'x', 1e130000, 1e130000, 18, 1, now(), now() from generate_series(1, 600) n`);
  await query(`
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
    select 60, 'S' || n, '', 1e130000 + m, 0, now() - m * interval '1 minute' from generate_series(1, 40) n, generate_series(1, 30) m`);
  await query(`
    insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error)
    values ('transactions', now(), now(), 'failed', 0, 0, 0, 0, repeat('x', 20000000))`);
  await query(`
    insert into ledger.streams (name, last_error, last_error_at)
    values ('deposit', repeat('y', 20000000), now())`);
  const status = await readStatus(ledger.db, []);
  expect(status.balances[0]?.balance).toBe('1.00000000000e+130000');
  expect(status.balances[0]?.history[0]?.balance).toMatch(/^1\.0{11}e\+130000$/);
  expect(status.lastErrors.map(({ message }) => message.length)).toEqual([2_000, 2_000]);
  expect(JSON.stringify(status).length).toBeLessThan(1_000_000);
}, 60_000);
