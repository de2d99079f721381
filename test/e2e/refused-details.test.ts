import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withListingService } from '../support/with-listing-service.ts';

const row = {
  orderNo: 'order-1',
  symbol: 'ETH',
  amount: '1',
  type: 'deposit',
  state: 'success',
  time: 1_700_000_000_000,
};
const detail = JSON.stringify({ ...row, fee: '0.1', feeSymbol: 'ETH' });

test('a command that lacks a detail says why and when it is asked for again, and asks at once when it is run again', async () => {
  const { service, env } = await withListingService();
  service.lists.set('deposit', [JSON.stringify(row)]);
  service.details.set('order-1', '{"orderNo":"order-2"}');
  const first = await runProgram(['sync'], env);
  expect(first).toMatchObject({ code: 3 });
  expect(first.stderr).toMatch(
    /incomplete: details \(1 could not be fetched, order-1 last: GET \S+: .+; a daemon asks for it again at \d{4}-\S+ \S+ UTC\); see `wallet-ledger status`, then run the command again\n/,
  );
  service.details.set('order-1', detail);
  expect(await runProgram(['sync'], env)).toMatchObject({ code: 0 });
}, 60_000);

test.each(['sync', 'sync details', 'backfill', 'backfill --restart'])(
  '%s brings a detail that was refused before, long before its pause ends',
  async (command) => {
    const { service, env, query } = await withListingService();
    service.lists.set('deposit', [JSON.stringify(row)]);
    service.details.set('order-1', detail);
    expect(await runProgram(['sync', 'transactions'], env)).toMatchObject({ code: 0 });
    await query(`
      insert into engine.detail_checks (order_no, is_final, turn, refusals, refused_at, due_at)
      values ('order-1', true, 3, 9, now(), now() + interval '1 day') on conflict (wallet, order_no) do update
         set turn = 3, refusals = 9, refused_at = now(), due_at = excluded.due_at`);
    expect(await runProgram(command.split(' '), env)).toMatchObject({ code: 0 });
    expect(await query('select fee::text from ledger.transactions')).toEqual([{ fee: '0.1' }]);
  },
);

test('verify names the details that are refused and ends with 3, also after a repair, which asks for them again', async () => {
  const { service, env, query } = await withListingService();
  service.lists.set('deposit', [JSON.stringify(row)]);
  expect(await runProgram(['sync', 'transactions'], env)).toMatchObject({ code: 0 });
  await query(`
    insert into engine.detail_checks (order_no, is_final, turn, refusals, refused_at, due_at)
    values ('order-1', true, 3, 9, now(), now() + interval '1 day') on conflict (wallet, order_no) do update
       set turn = 3, refusals = 9, refused_at = now(), due_at = excluded.due_at`);
  for (const command of ['verify', 'verify --repair']) {
    const verified = await runProgram(command.split(' '), env);
    expect([command, verified]).toMatchObject([command, { code: 3 }]);
    expect(verified.stdout).toContain('  missing: order-1\n');
    expect(verified.stderr).toContain('details: 1 could not be fetched, order-1 last');
  }
  service.details.set('order-1', detail);
  expect(await runProgram(['verify', '--repair'], env)).toMatchObject({ code: 0 });
  expect(await query('select fee::text from ledger.transactions')).toEqual([{ fee: '0.1' }]);
}, 60_000);
