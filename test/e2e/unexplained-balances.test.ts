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

const prove = `
  update ledger.streams set is_backed = true, service_total = ledger_count, last_success_at = now();
  update ledger.coverage set verified_at = now()`;

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
    ${prove}`);
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

const notAsserted = (day: string) =>
  new RegExp(`^; ${day} not asserted: ETH reported 12 and booked 15$`, 'm');

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
    expect(text).toMatch(/^; 2026-01-10 not asserted: ETH reported 15 and booked 5$/m);
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

/** Rows of February that may be why the balance of ETH is not what the transactions add up to. */
const doubts: [doubt: string, rows: string][] = [
  ['a deposit that is pending', "'four', 'deposit', 'ETH', 4, false, false, true"],
  ['a deposit whose amount cannot be read', "'four', 'deposit', 'ETH', null, true, true, true"],
  ['a deposit whose coin cannot be read', "'four', 'deposit', null, 4, true, true, true"],
  ['a deposit that is not listed any more', "'four', 'deposit', 'ETH', 4, true, true, false"],
  ['a withdrawal of a token that is pending', "'four', 'withdraw', 'USDT', 4, false, false, true"],
];

const insertRow = (row: string, time: string) => `
  insert into ledger.transactions (order_no, stream, symbol, amount, is_success, is_final, is_listed, state, occurred_at, detail_synced_at)
  values (${row}, 'any', '${time}', now())`;

/** Moves the reading of the balances from January to March. */
const readInMarch = "update ledger.balance_changes set observed_at = '2026-03-10 00:00Z'";

test.each(doubts)(
  '%s may be why a balance is higher than its transactions, so that no opening is booked for it',
  async (_, row) => {
    const service = await withBalances({ ETH: 19, BTC: 2 });
    await service.query(`${readInMarch}; ${insertRow(row, '2026-02-07 00:00Z')}; ${prove}`);
    const words = 'its balance of ETH differs from the transactions';
    const closing = await close(service, '2026-01');
    expect([closing.code, closing.stdout]).toEqual([0, expect.stringContaining(words)]);
    const listed = await close(service, 'list', '--json');
    expect(JSON.parse(listed.stdout).months).toMatchObject([{ coinsWithoutOpening: ['ETH'] }]);
    for (const period of [[], january]) {
      for (const tool of tools) {
        const { path, text } = await exported(service, tool, ...period);
        expect(text).toMatch(
          /^; ETH has no opening yet: .* may be why 19 is reported and 15 is booked$/m,
        );
        expect(text).not.toMatch(/opening, computed back|equity:opening|= 19 ETH/i);
        if (bookTools[tool]) expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
      }
    }
  },
  120_000,
);

test.each([
  [
    'a row without a usable order number',
    `insert into ledger.rejects (source, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
     values ('transaction-list', 'orderNo', 'orderNo is missing', '{"symbol":"ETH","amount":"4"}', 'f', '2026-01-08', now())`,
  ],
  [
    'a list that was not read to its end',
    "update ledger.streams set is_backed = false where name = 'deposit'",
  ],
])(
  '%s leaves it open what the wallet held before',
  async (_, change) => {
    const service = await withBalances({ ETH: 19, BTC: 2 });
    await service.query(change);
    const { text } = await exported(service, 'hledger');
    expect(text).toContain('; ETH has no opening yet');
    expect(text).not.toContain('computed back');
  },
  60_000,
);

test('an opening is computed from the first balance that was read while no earlier row was open', async () => {
  const service = await withBalances({ ETH: 25, BTC: 2 });
  await service.query(`
    ${insertRow("'four', 'deposit', 'ETH', 4, true, true, true", '2026-01-07 00:00Z')};
    ${insertRow("'five', 'deposit', 'ETH', 5, false, false, true", '2026-01-20 00:00Z')};
    insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
    values ('four', '2026-01-15 12:00Z', 'state', 'pending', 'success');
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
    values (60, 'ETH', '', 29, 0, '2026-01-15 12:01Z')`);
  const { text } = await exported(service, 'hledger');
  expect(text).toMatch(/opening, computed back[^\n]*\n\s+assets:custody {2}10 ETH/);
  expect(text).toContain('; 2026-01-14 not asserted: ETH reported 25 and booked 29');
  expect(text).toMatch(/2026-01-15 \* balances[^*]* 0 ETH = 29 ETH/);
}, 60_000);

test('the opening of a closed month stays while rows that came into doubt since leave it unknown', async () => {
  const service = await withBalances({ ETH: 25, BTC: 2 });
  expect(await close(service, '2026-01')).toMatchObject({ code: 0 });
  const before = (await exported(service, 'hledger', ...january)).text;
  expect(before).toMatch(/opening, computed back[^\n]*\n\s+assets:custody {2}10 ETH/);
  await service.query(
    `update ledger.transactions set is_listed = false where order_no = 'two'; ${prove}`,
  );
  expect((await exported(service, 'hledger', ...january)).text).toBe(before);
  expect(await close(service, '2026-02')).toMatchObject({ code: 0 });
  const { text } = await exported(service, 'hledger', ...january.slice(0, 2), ...february.slice(2));
  expect(text).toMatch(
    /came or changed after[^\n]*\n\s+assets:custody {2}-5 ETH\n\s+liabilities:customers {2}5 ETH\n[^ ]/,
  );
}, 60_000);
