import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

const seal = `ledger.seal(order_no, request_id, symbol, tx_hash, from_address, to_address, amount, type, state,
  confirm_num, fee, fee_symbol, occurred_at, extra)`;

test('a fee that was changed with its seal passes verify, and is found when the details are read again', async () => {
  const { env, query } = await withService({ transactions: 20 });
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  const [row] = await query(`select order_no as "orderNo", fee::text from ledger.transactions
    where stream = 'withdraw' and fee is not null and is_final order by order_no limit 1`);
  const one = `order_no = '${row?.['orderNo']}'`;
  const fee = async () =>
    (await query(`select fee::text from ledger.transactions where ${one}`))[0]?.['fee'];
  await query(`update ledger.transactions set fee = 12345 where ${one}`);
  expect((await runProgram(['verify', '--repair'], env)).code).toBe(0);
  expect(await fee()).toBe(row?.['fee']);

  await query(`update ledger.transactions set fee = 12345 where ${one}`);
  await query(`update ledger.transactions set seal = ${seal} where ${one}`);
  expect((await runProgram(['verify'], env)).code).toBe(0);
  expect(await fee()).toBe('12345');

  await query(`update ledger.transactions set seal = null where is_listed`);
  await query(`insert into engine.detail_checks (wallet, order_no, is_final, turn)
                select wallet, order_no, is_final, 0 from ledger.transactions where is_listed`);
  expect((await runProgram(['sync', 'details'], env)).code).toBe(0);
  expect(await fee()).toBe(row?.['fee']);
  expect(
    await query(`select old_value as old from ledger.transaction_changes
                  where ${one} and field = 'fee' order by id desc limit 1`),
  ).toEqual([{ old: '12345' }]);
}, 60_000);
