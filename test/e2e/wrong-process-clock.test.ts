import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

const dayMs = 86_400_000;

/** Moves the clock of one process. */
function clockBehind(days: number): Record<string, string> {
  const code = `const right = Date.now; Date.now = () => right() - ${days * dayMs};`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` };
}

test('a process whose clock is days behind stores the times of today, and rejects one of the future', async () => {
  const { sandbox, env, query } = await withService({ transactions: 100 });
  const listed = (orderNo: string, time: number) =>
    sandbox.world.addRawListRow(
      'deposit',
      { orderNo, symbol: 'BTC', amount: '1', type: 'deposit', state: 'success', time },
      { at: Date.now() },
    );
  const now = Date.now();
  listed('of-today', now);
  listed('of-the-future', now + 4 * dayMs);
  const wrong = { ...env, ...clockBehind(5) };
  const undated = () => query('select order_no from ledger.transactions where occurred_at is null');
  await runProgram(['sync', 'transactions'], wrong);
  expect(await undated()).toEqual([{ order_no: 'of-the-future' }]);
  expect(
    await query(`select occurred_at from ledger.transactions where order_no = 'of-today'`),
  ).toEqual([{ occurred_at: new Date(now) }]);
  await runProgram(['rejects', 'retry'], wrong);
  expect(await undated()).toEqual([{ order_no: 'of-the-future' }]);
  const open = await query('select order_no from ledger.rejects where resolved_at is null');
  expect(open).toEqual([{ order_no: 'of-the-future' }]);
}, 60_000);
