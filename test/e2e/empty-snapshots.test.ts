import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withListingService } from '../support/with-listing-service.ts';

test('a list of balances that is suddenly empty is a problem at once, and explains no difference', async () => {
  const { service, env, query } = await withListingService();
  service.snapshots.balance = JSON.stringify([
    { symbol: 'ETH', slip44: 60, contractAddress: '', balance: '100', frozen: '0', decimal: 18 },
  ]);
  expect(await runProgram(['sync'], env)).toMatchObject({ code: 0 });
  const before = await query('select * from ledger.reconciliation');
  service.snapshots.balance = '[]';
  const empty = 'the list of balances is suddenly empty, and the ledger has one that is not 0';
  expect(await runProgram(['sync', 'balances'], env)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(empty),
  });
  expect(await query('select is_listed from ledger.balances')).toEqual([{ is_listed: true }]);
  expect(await query('select * from ledger.reconciliation')).toEqual(before);
  expect(await query(`select name, what from ledger.problems where name = 'job_failing'`)).toEqual([
    { name: 'job_failing', what: `balances fails: ${empty}` },
  ]);
  expect(await runProgram(['status', '--check'], env)).toMatchObject({ code: 3 });
});

test('a list of coins that is suddenly empty is a problem at once, and unlists no coin', async () => {
  const { service, env, query } = await withListingService();
  const coin = { symbol: 'ETH', slip44: 60, contractAddress: '', decimal: 18, name: 'Ether' };
  service.snapshots.coin = JSON.stringify([{ ...coin, depositState: 1, withdrawState: 1 }]);
  expect(await runProgram(['sync'], env)).toMatchObject({ code: 0 });
  service.snapshots.coin = '[]';
  const empty = 'the list of coins is suddenly empty, and the ledger lists one';
  expect(await runProgram(['sync', 'coins'], env)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(empty),
  });
  expect(await query('select is_listed from ledger.coin_changes')).toEqual([{ is_listed: true }]);
  expect(await query(`select name, what from ledger.problems where name = 'job_failing'`)).toEqual([
    { name: 'job_failing', what: `coins fails: ${empty}` },
  ]);
});
