import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { type Service, withService } from '../support/with-service.ts';

/** A month of the past, as `2026-03`. */
function monthAgo(months: number): string {
  const now = new Date();
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1));
  return first.toISOString().slice(0, 7);
}

const close = async ({ env }: Service, month: string) => {
  const { code, stdout } = await runProgram(['close', month], env);
  return { code, lines: stdout.trim().split('\n') };
};

function listDeposit({ sandbox }: Service, orderNo: string, state: string, time?: unknown): void {
  const row = { orderNo, symbol: 'BTC', amount: '1', type: 'deposit', state, time };
  sandbox.world.addRawListRow('deposit', row, { at: Date.now() });
}

const sync = async ({ env }: Service) => {
  const { code, stderr } = await runProgram(['sync'], env);
  expect([code, stderr.slice(-500)]).toEqual([0, expect.anything()]);
};

test('a month stays open while a row whose time cannot be read may belong to it', async () => {
  const service = await withService({ transactions: 200 });
  const [former, month] = [monthAgo(3), monthAgo(2)];
  listDeposit(service, 'no-time', 'success', null);
  listDeposit(service, 'time-missing', 'success');
  listDeposit(service, 'failed', 'failed', 'soon');
  expect((await runProgram(['backfill'], service.env)).code).toBe(0);
  expect(await close(service, former)).toMatchObject({ code: 0 });

  listDeposit(service, 'odd-text', 'success', 'soon');
  listDeposit(service, 'odd-year', 'success', 12);
  listDeposit(service, 'odd-pending', 'pending', 'later');
  await sync(service);
  const reason = (words: string) => ({
    code: 3,
    lines: [
      `${month} cannot be closed:`,
      `  ${words}, which may lie in this month: see \`wallet-ledger rejects\``,
    ],
  });
  expect(await close(service, month)).toEqual(
    reason('3 transactions have a time that cannot be read (odd-pending, odd-text, odd-year)'),
  );

  const firstSeen = (orderNo: string, moment: string) =>
    service.query(
      `update ledger.transactions set first_seen_at = ${moment} where order_no = '${orderNo}'`,
    );
  await firstSeen('odd-pending', `timestamptz '${month}-01 00:00Z' - interval '1 microsecond'`);
  await service.query(`update ledger.rejects set resolved_at = now() where order_no = 'odd-year'`);
  await firstSeen('odd-text', `timestamptz '${month}-01 00:00Z'`);
  expect(await close(service, month)).toEqual(
    reason('1 transaction has a time that cannot be read (odd-text)'),
  );
  await service.query(
    `update ledger.transactions set occurred_at = now() where order_no = 'odd-text'`,
  );
  expect(await close(service, month)).toMatchObject({ code: 0 });
}, 120_000);
