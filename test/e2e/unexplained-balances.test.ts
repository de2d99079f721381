import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type BookTool, bookTools, judgeJournal } from '../support/book-tools.ts';
import { runProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Service, withService } from '../support/with-service.ts';

const tools: BookTool[] = ['hledger', 'beancount', 'ledger'];
const january = ['--from', '2026-01-01', '--to', '2026-01-31'];
const february = ['--from', '2026-02-01', '--to', '2026-02-28'];

/** A proven ledger with deposits of two coins in January, and the balances of ETH and BTC, read on January 10. */
async function withBalances(balances: { ETH: number; BTC: number }): Promise<Service> {
  const service = await withService({ transactions: 0 });
  expect((await runProgram(['sync'], service.env)).code).toBe(0);
  await service.query(`
    insert into ledger.transactions (order_no, stream, symbol, amount, is_success, is_final, state, occurred_at, detail_synced_at)
    values ('one', 'deposit', 'ETH', 10, true, true, 'success', '2026-01-05 00:00Z', now()),
           ('two', 'deposit', 'ETH', 5, true, true, 'success', '2026-01-06 00:00Z', now()),
           ('three', 'deposit', 'BTC', 2, true, true, 'success', '2026-01-06 00:00Z', now());
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
    values (60, 'ETH', '', ${balances.ETH}, 0, '2026-01-10 00:00Z'), (0, 'BTC', '', ${balances.BTC}, 0, '2026-01-10 00:00Z');
    update ledger.streams set is_backed = true, service_total = ledger_count, last_success_at = now();
    update ledger.coverage set verified_at = now()`);
  return service;
}

async function exported({ env }: Service, format: string, ...period: string[]) {
  const folder = temporaryFolder();
  const path = join(folder, 'books');
  const args = ['export', '--format', format, '--out', path, ...period];
  const { code, stderr } = await runProgram(args, env);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^exported/)]);
  return { path, said: stderr, text: readFileSync(path, 'utf8') };
}

const close = async ({ env }: Service, ...args: string[]) =>
  await runProgram(['close', ...args], env);

/** hledger and ledger read a comma in a remark as the end of a tag, so that it is written as %2C. */
const notAsserted = (day: string) =>
  new RegExp(`^; ${day} not asserted: ETH reported 12(,|%2C) booked 15$`, 'm');

test('a balance below what the transactions add up to is a remark, and no opening hides it', async () => {
  const service = await withBalances({ ETH: 12, BTC: 9 });
  for (const tool of tools) {
    const { path, said, text } = await exported(service, tool, ...january);
    expect([tool, said]).toEqual([
      tool,
      'exported 3 transactions; 22 reported balances are asserted\n' +
        '22 reported balances differ from the transactions and are remarks in the journal; see the view ledger.reconciliation\n',
    ]);
    expect(text).toMatch(/opening, computed back[^\n]*\n\s+[Aa]ssets:[Cc]ustody {2}7 BTC/);
    expect(text).toMatch(notAsserted('2026-01-10'));
    expect(text).not.toMatch(/-3 ETH|equity:opening +3 ETH|Equity:Opening +3 ETH|= 12 ETH/);
    if (bookTools[tool]) expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
  }
  for (const format of ['csv', 'parquet'])
    expect((await exported(service, format, ...january)).said).toBe('exported 6 postings\n');
}, 120_000);

test('a coin that agreed once has no opening when one of its deposits is undone later', async () => {
  const service = await withBalances({ ETH: 15, BTC: 4 });
  await service.query(`
    insert into ledger.stream_proofs (name, observed_at, is_complete, service_total, ledger_count)
    select name, '2026-01-09 00:00Z', true, ledger_count, ledger_count from ledger.streams
     where name in ('deposit', 'withdraw');
    insert into ledger.reconciliation_runs (symbol, observed_at, expected, reported, difference, is_explained)
    values ('ETH', '2026-01-08 00:00Z', 15, 15, 0, true), ('ETH', '2026-01-12 00:00Z', 5, 15, 10, false),
           ('BTC', '2026-01-07 00:00Z', 0, 0, 0, true), ('BTC', '2026-01-08 00:00Z', 2, 4, 2, false);
    update ledger.transactions set state = 'reverted', is_success = false where order_no = 'one'`);
  for (const tool of tools) {
    const { path, said, text } = await exported(service, tool, ...january);
    expect(said).toContain('22 reported balances differ from the transactions');
    expect(text).toMatch(/^; 2026-01-10 not asserted: ETH reported 15(,|%2C) booked 5$/m);
    // The comparison of BTC is from before the history was read.
    expect(text.match(/opening, computed back[^\n]*\n\s+[Aa]ssets:[Cc]ustody +\S+ \S+/g)).toEqual([
      expect.stringMatching(/ 2 BTC$/),
    ]);
    if (bookTools[tool]) expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
  }
}, 120_000);

test('a month is closed with balances that the transactions do not explain, and each command says so', async () => {
  const service = await withBalances({ ETH: 12, BTC: 2 });
  const words = '  22 reported balances differ from the transactions and are not asserted';
  const first = await close(service, '2026-01');
  expect([first.code, first.stdout]).toEqual([0, expect.stringContaining(words)]);
  expect((await close(service, '2026-01')).stdout).toContain(words);
  const { stdout } = await close(service, 'list', '--json');
  expect(JSON.parse(stdout).months).toMatchObject([{ month: '2026-01', differingBalances: 22 }]);
  expect((await close(service, 'list')).stdout).toContain(words);
  const { said } = await exported(service, 'hledger', ...january);
  expect(said).toContain('22 reported balances differ from the transactions');

  const explained = await withBalances({ ETH: 15, BTC: 2 });
  expect((await close(explained, '2026-01')).stdout).not.toContain('differ');
}, 120_000);

test('a month that was closed with an opening below zero keeps its books, and the next one takes it back', async () => {
  const service = await withBalances({ ETH: 12, BTC: 2 });
  expect(await close(service, '2026-01')).toMatchObject({ code: 0 });
  await service.query(`
    delete from ledger.closed_books where part = 'openings';
    insert into ledger.closed_books (month, part, no, cells) values ('2026-01-01', 'openings', 1, array['ETH', '-3']);
    update ledger.closed_books set cells[4] = '12', cells[5] = 'true'
     where part = 'day_ends' and cells[2] = 'ETH'`);
  const listed = await close(service, 'list');
  expect([listed.code, listed.stdout]).toEqual([
    0,
    expect.stringContaining(
      '  its opening of ETH is below zero: an earlier version booked a difference as one\n',
    ),
  ]);
  for (const tool of tools) {
    const { path, text } = await exported(service, tool, ...january);
    expect(text).toMatch(/[Aa]ssets:[Cc]ustody {2}-3 ETH/);
    if (bookTools[tool]) expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
  }
  expect(await close(service, '2026-02')).toMatchObject({ code: 0 });
  for (const tool of tools) {
    const alone = await exported(service, tool, ...february);
    expect(alone.text).toMatch(notAsserted('2026-02-28'));
    const { path, text } = await exported(
      service,
      tool,
      ...january.slice(0, 2),
      ...february.slice(2),
    );
    expect(text).toMatch(/came or changed after[^\n]*\n\s+[Aa]ssets:[Cc]ustody {2}3 ETH/);
    if (bookTools[tool]) expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
  }
}, 120_000);
