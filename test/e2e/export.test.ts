import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type BookTool, bookTools, judgeBalances, judgeJournal } from '../support/book-tools.ts';
import { withBookedWallet } from '../support/booked-wallet.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

const tools: BookTool[] = ['hledger', 'beancount', 'ledger'];

/** Exports to a file and returns its name and what the command said. */
async function exported({ env }: Service, format: string, ...more: string[]) {
  const path = join(temporaryFolder(), `books.${format}`);
  const args = ['export', '--format', format, '--out', path, ...more];
  const { code, stdout, stderr } = await runProgram(args, env);
  expect([code, stdout, stderr]).toEqual([0, '', expect.any(String)]);
  return { path, said: stderr };
}

/** The balances of the service, by coin, without the zeros at their ends. */
async function reportedBalances({ query }: Service): Promise<Map<string, string>> {
  const rows = await query(
    `select symbol, trim_scale(sum(balance))::text as balance from ledger.balances where is_listed group by symbol having sum(balance) <> 0`,
  );
  return new Map(rows.map(({ symbol, balance }) => [String(symbol), String(balance)]));
}

const columns = 'order_no, posting_no, booked_at, account, symbol, amount, stream, tx_hash';

/** Mistakes that somebody could make in the view, each as a select over the right one. */
const mistakes = {
  'the sign of withdrawals': `
    select p.order_no, p.posting_no, p.booked_at, p.account, p.symbol,
           case when t.stream = 'withdraw' and p.posting_no < 3 then - p.amount else p.amount end as amount,
           p.stream, p.tx_hash
      from own.right_postings p join ledger.transactions t using (order_no)`,
  'a fee that is counted twice': `
    select ${columns} from own.right_postings
    union all
    select order_no, posting_no + 2, booked_at, account, symbol, amount, stream, tx_hash
      from own.right_postings where posting_no > 2`,
  'a fee in the coin of the amount': `
    select p.order_no, p.posting_no, p.booked_at, p.account,
           case when p.posting_no > 2 then t.symbol else p.symbol end as symbol, p.amount,
           p.stream, p.tx_hash
      from own.right_postings p join ledger.transactions t using (order_no)`,
  'transactions that are not final yet': `
    select ${columns} from own.right_postings
    union all
    select t.order_no, s.no, t.occurred_at, s.account, t.symbol, s.sign * t.amount, t.stream, t.tx_hash
      from ledger.transactions t
     cross join (values (1, 'assets:custody', 1), (2, 'liabilities:customers', -1)) as s (no, account, sign)
     where t.stream = 'deposit' and not t.is_final`,
  'transactions that failed': `
    select ${columns} from own.right_postings
    union all
    select t.order_no, s.no, t.occurred_at, s.account, t.symbol, s.sign * t.amount, t.stream, t.tx_hash
      from ledger.transactions t
     cross join (values (1, 'assets:custody', 1), (2, 'liabilities:customers', -1)) as s (no, account, sign)
     where t.stream = 'deposit' and t.is_final and not t.is_success`,
  'the day of another time zone': `
    select order_no, posting_no, booked_at + interval '9 hours' as booked_at, account, symbol, amount, stream, tx_hash
      from own.right_postings`,
};

test('journals are accepted, and their balances are those of the service to the last digit: with hledger, with beancount, with ledger', async () => {
  const service = await withBookedWallet(3_000);
  const balances = await reportedBalances(service);
  expect(balances.size).toBeGreaterThan(3);
  const [{ count } = { count: 0 }] = await service.query(
    'select count(distinct order_no)::int as count from ledger.postings',
  );
  for (const tool of tools) {
    const { path, said } = await exported(service, tool);
    expect(said).toContain(`exported ${Number(count).toLocaleString('en-US')} transactions`);
    expect(said).toMatch(/ ([2-9],)\d{3} reported balances are asserted\n$/);
    expect(readFileSync(path, 'utf8')).not.toContain('not asserted');
    if (bookTools[tool] === undefined) continue;
    expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
    expect([tool, await judgeBalances(tool, path, balances)]).toEqual([tool, '']);
    const [symbol = '', balance = ''] = [...balances][0] ?? [];
    const off = new Map(balances).set(symbol, `${balance}${balance.includes('.') ? '' : '.'}1`);
    expect(await judgeBalances(tool, path, off)).toContain(
      tool === 'beancount' ? 'Balance failed' : `${symbol}: ${balance} for ${off.get(symbol)}`,
    );
  }

  await service.query('alter view own.postings rename to right_postings');
  for (const [mistake, select] of Object.entries(mistakes)) {
    await service.query(`create view own.postings as ${select}`);
    for (const tool of tools) {
      if (bookTools[tool] === undefined) continue;
      const { path } = await exported(service, tool);
      const verdict = await judgeJournal(tool, path);
      expect([tool, mistake, verdict]).toEqual([tool, mistake, expect.stringMatching(/^refused/)]);
      expect(verdict).toMatch(/balance|Balance/);
    }
    await service.query('drop view own.postings');
  }
}, 600_000);

test('a period carries forward what was before it, and its balances are asserted as well: with hledger, with beancount, with ledger', async () => {
  const service = await withBookedWallet(1_000);
  const [days] = await service.query(`
    select (now() - interval '300 days')::date::text as from, (now() - interval '100 days')::date::text as to`);
  const { from, to } = days as { from: string; to: string };
  const rows = await service.query(`
    select symbol, trim_scale(sum(amount))::text as balance from ledger.postings
     where account = 'assets:custody' and booked_at < (date '${to}' + 1)::timestamp at time zone 'UTC'
     group by symbol having sum(amount) <> 0`);
  const balances = new Map(rows.map(({ symbol, balance }) => [String(symbol), String(balance)]));
  for (const tool of tools) {
    const { path, said } = await exported(service, tool, '--from', from, '--to', to);
    expect(said).not.toMatch(/ 0 reported balances/);
    const journal = readFileSync(path, 'utf8');
    const dates = [...journal.matchAll(/^(\d{4}-\d\d-\d\d) \*/gm)].map(([, day]) => day ?? '');
    expect(dates.toSorted((a, b) => a.localeCompare(b))).toEqual(dates);
    expect([dates[0], (dates.at(-1) ?? '') <= to]).toEqual([from, true]);
    if (bookTools[tool] === undefined) continue;
    expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
    expect([tool, await judgeBalances(tool, path, balances)]).toEqual([tool, '']);
  }
}, 240_000);

test('a balance that the transactions contradict is a remark, and what was there before the history is an opening', async () => {
  const service = await withBookedWallet(300);
  await service.query(`
    update ledger.accounts set name = 'Ausgang: (alt)' where role = 'withdrawn';
    delete from ledger.accounts where role = 'fees';
    update ledger.balance_changes set balance = balance + 7 where symbol = 'BTC';
    delete from ledger.reconciliation_runs where symbol = 'BTC';
    update ledger.balance_changes set balance = balance + 0.5
     where symbol = 'ETH' and id = (select max(id) from ledger.balance_changes where symbol = 'ETH')`);
  for (const tool of tools) {
    const { path, said } = await exported(service, tool);
    const journal = readFileSync(path, 'utf8');
    expect(journal).toMatch(
      /opening, computed back from the first balance[^\n]*\n\s+[Aa]ssets:[Cc]ustody {2}7 BTC/,
    );
    expect(journal).toMatch(/^; \d{4}-\d\d-\d\d not asserted: ETH reported/m);
    expect(said).toMatch(/1 reported balance differs from the transactions and is a remark/);
    if (bookTools[tool]) expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
  }
}, 120_000);

test('a kill leaves no half file under the final name, and the next export replaces the whole one', async () => {
  const service = await withBookedWallet(2_000);
  const { path } = await exported(service, 'csv');
  const whole = readFileSync(path, 'utf8');
  for (let kill = 0; kill < 8; kill += 1) {
    const running = startProgram(['export', '--format', 'csv', '--out', path], service.env);
    await delay(150 * kill);
    running.process.kill('SIGKILL');
    await running.ended;
    expect(readFileSync(path, 'utf8')).toBe(whole);
  }
  const fresh = join(temporaryFolder(), 'books.csv');
  const stopped = startProgram(['export', '--format', 'csv', '--out', fresh], service.env);
  const files = () => readdirSync(join(fresh, '..'));
  await until(async () => files().length > 0);
  stopped.process.kill('SIGTERM');
  const { code } = await stopped.ended;
  const left = files();
  expect([code, left]).toEqual(code === 0 ? [0, ['books.csv']] : [1, []]);
}, 240_000);

test('wrong options are named, and nothing is written', async () => {
  const env = {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    WALLET_BASE_URL: 'http://127.0.0.1:1',
    WALLET_SIGNER: 'params-hmac',
    WALLET_API_KEY: 'key',
    WALLET_API_SECRET: 'a secret of some length',
  };
  const cases: [string[], RegExp][] = [
    [[], /required option '--format <format>' not specified/],
    [['--format', 'excel'], /'excel' is invalid.*hledger, beancount, ledger, csv, parquet/],
    [['--format', 'csv', '--from', '2026-02-30'], /--from.*day of the calendar/],
    [['--format', 'csv', '--to', 'yesterday'], /--to.*day of the calendar/],
    [['--format', 'csv', '--from', '0000-12-31'], /--from.*day of the calendar/],
    [
      ['--format', 'csv', '--from', '2026-03-02', '--to', '2026-03-01'],
      /--from 2026-03-02 is later than --to 2026-03-01/,
    ],
  ];
  for (const [args, words] of cases) {
    const { code, stdout, stderr } = await runProgram(['export', ...args], env);
    expect([args, code, stdout, stderr]).toEqual([args, 2, '', expect.stringMatching(words)]);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  }
}, 60_000);

test('a file that cannot be written is refused in words', async () => {
  const service = await withBookedWallet(50);
  for (const path of [
    join(temporaryFolder(), 'none', 'books.csv'),
    temporaryFolder(),
    '/dev/null',
  ]) {
    const args = ['export', '--format', 'csv', '--out', path];
    const { code, stderr } = await runProgram(args, service.env);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`cannot write the file ${path}`)]);
  }
}, 120_000);

test('one transaction and one unknown value are counted in the singular', async () => {
  const { env, query } = await withService({ transactions: 0 });
  expect((await runProgram(['migrate'], env)).code).toBe(0);
  await query(`insert into ledger.transactions (order_no, stream, type, symbol, amount, state, is_final, is_success, occurred_at, fee, fee_symbol)
               values ('a', 'deposit', 'deposit', 'ETH', 5, 'success', true, true, '2026-01-10', 0, 'ETH'),
                      ('b', 'deposit', 'deposit', 'ETH', null, 'success', true, true, '2026-01-11', 0, 'ETH')`);
  const { code, stdout, stderr } = await runProgram(['export', '--format', 'hledger'], env);
  expect(code).toBe(0);
  expect(stderr).toContain('exported 1 transaction;');
  expect(stderr).toContain('1 value is not known yet and is not in the books');
  expect(stdout).toContain('INCOMPLETE: 1 value is not known yet;');
});
