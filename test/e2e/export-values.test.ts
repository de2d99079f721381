import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { bookTools, judgeJournal, sumsOf } from '../support/book-tools.ts';
import { runProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Service, withService } from '../support/with-service.ts';

/** Coins and amounts at the edges of every format; the balances are those that they add up to. */
const symbols = [
  'BTC',
  '1INCH',
  'usd coin',
  'T',
  'TRUE',
  '€',
  'a"b;c',
  '-X',
  '=1+1',
  'x\\y',
  'LONG-NAME-OF-A-COIN-THAT-IS-LONGER',
];
const amounts = [
  '1e-40',
  '1e60',
  '1234567890123456789.123456789012345678',
  '0.000000000000000001',
  '1999999999999999999.999999999999999999',
  '0.10',
  '100000000000000000000',
  '-3.5',
  '7',
];
const references = ['-1', 'a, b', 'line\nbreak', '"quoted"', "'", '@x', '\ttab', 'x:y:z', 'Ünal'];

async function withOddBooks(): Promise<Service & { folder: string }> {
  const service = await withService({ transactions: 0 });
  expect((await runProgram(['sync'], service.env)).code).toBe(0);
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const list = (texts: string[]) => `(array[${texts.map(literal).join(', ')}])`;
  await service.query(`
    insert into ledger.transactions (order_no, stream, symbol, amount, fee, fee_symbol, is_success, is_final, state,
                                     occurred_at, detail_synced_at, to_address, tx_hash)
    select literal_no || n, case when n % 4 = 0 then 'withdraw' else 'deposit' end, ${list(symbols)}[1 + n % ${symbols.length}],
           ${list(amounts)}[1 + n % ${amounts.length}]::numeric, case when n % 3 = 0 then 1e-18 else 0 end,
           ${list(symbols)}[1 + n % 7], true, true, 'success',
           timestamptz '2026-01-01 23:59:59.999999Z' + n * interval '1 hour', now(), 'address' || n % ${references.length},
           case when n % 5 > 0 then 'hash ' || n end
      from generate_series(1, 400) as n cross join (values ('=order)')) as x (literal_no);
    insert into ledger.transactions (order_no, stream, symbol, amount, is_success, is_final, occurred_at, detail_synced_at)
    values ('largest', 'deposit', 'LARGEST', 99999999999999999999.999999999999999999, true, true, '2026-01-05 00:00Z', now());
    insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, first_seen_at)
    select 60, 'address' || n - 1, 'assigned', r, now(), now()
      from unnest(${list(references)}) with ordinality as u (r, n);
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
    select 60, symbol, '', sum(sum(amount)) over (partition by symbol order by day), 0,
           (day + time '23:59:59.999999') at time zone 'UTC'
      from (select (booked_at at time zone 'UTC')::date as day, symbol, amount from ledger.postings
             where account = 'assets:custody') as p
     group by symbol, day`);
  const folder = temporaryFolder();
  return { ...service, folder };
}

async function exported({ env, folder }: Service & { folder: string }, format: string) {
  const path = join(folder, `books.${format}`);
  const { code, stderr } = await runProgram(['export', '--format', format, '--out', path], env);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^exported/)]);
  return { path, said: stderr };
}

test('amounts from 1e-40 to 1e60 and odd names go through every journal: with hledger, with beancount, with ledger', async () => {
  const books = await withOddBooks();
  const rows = await books.query(`
    select trim_scale(sum(amount))::text as sum from ledger.postings
     where account = 'assets:custody' group by symbol having sum(amount) <> 0`);
  const sums = rows.map(({ sum }) => plain(String(sum)));
  expect(sums.length).toBe(symbols.length + 1);
  for (const tool of ['hledger', 'beancount', 'ledger'] as const) {
    const { path, said } = await exported(books, tool);
    expect(said).toMatch(
      /^exported 401 transactions; [1-9][\d,]* reported balances are asserted\n$/,
    );
    if (bookTools[tool] === undefined) continue;
    expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
    if (tool === 'beancount') continue;
    const own = [...(await sumsOf(tool, path, 'assets:custody')).values()].map(plain);
    expect(new Set(own)).toEqual(new Set(sums));
  }
}, 120_000);

function plain(sum: string): string {
  return sum.includes('.') ? sum.replace(/\.?0+$/, '') : sum;
}

/** Cells of a text after RFC 4180. */
function parseCsv(text: string): string[][] {
  const cells = [...text.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/g)];
  const lines: string[][] = [[]];
  for (const [, cell = '', end] of cells) {
    lines.at(-1)?.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end !== ',') lines.push([]);
  }
  return lines.slice(0, -1);
}

test('CSV holds every posting, reads back exactly, and holds no formula', async () => {
  const books = await withOddBooks();
  const { path } = await exported(books, 'csv');
  const [header = [], ...lines] = parseCsv(readFileSync(path, 'utf8'));
  expect(header.join()).toBe('date,time,order_no,posting_no,type,account,symbol,amount,tx_hash');
  const bare = (cell: string | undefined) => (cell ?? '').replace(/^'/, '');
  const found = lines.map((line) =>
    [line[0], line[2], line[3], line[5], line[6], line[7], line[8]].map(bare),
  );
  const rows = await books.query(`
    select (p.booked_at at time zone 'UTC')::date::text as day, p.order_no, p.posting_no::text, p.account, p.symbol,
           p.amount::text, coalesce(t.tx_hash, '') as hash
      from ledger.postings p join ledger.transactions t using (order_no)
     order by p.booked_at, p.order_no collate "C", p.posting_no`);
  expect(found).toEqual(rows.map((row) => Object.values(row)));
  const isNumber = (cell: string) => /^-?\d+(\.\d+)?$/.test(cell);
  const formulas = lines.flatMap((line) =>
    line.filter(
      (cell, column) =>
        /^[=+\-@\t\r]/.test(cell) && !(header[column] === 'amount' && isNumber(cell)),
    ),
  );
  expect(formulas).toEqual([]);
  expect(lines.every((line) => line.length === header.length && isNumber(line[7] ?? ''))).toBe(
    true,
  );
}, 60_000);

test('DuckDB reads the Parquet file and gives the sums of PostgreSQL to the last digit, or sees that an amount is absent', async () => {
  const books = await withOddBooks();
  const { path } = await exported(books, 'parquet');
  const duck = await (await DuckDBInstance.create(':memory:')).connect();
  const ask = async (sql: string) => (await duck.runAndReadAll(sql)).getRowsJson();
  const fits = `scale(trim_scale(amount)) <= 18 and abs(amount) < 1e20`;
  const expected = await books.query(`
    select symbol, count(*)::text as postings, count(*) filter (where ${fits})::text as exact,
           (sum(amount) filter (where ${fits}))::numeric(60,18)::text as sum,
           min(booked_at at time zone 'UTC')::text as first
      from ledger.postings where account = 'assets:custody' group by symbol order by symbol collate "C"`);
  const found = await ask(`
    select symbol, count(*)::varchar, count(amount)::varchar, sum(amount)::varchar, min(booked_at at time zone 'UTC')::varchar
      from '${path}' where account = 'assets:custody' group by symbol order by symbol`);
  expect(found).toEqual(expected.map((row) => Object.values(row)));
  const texts = await ask(`select order_no, posting_no, amount_text from '${path}' order by all`);
  const stored = await books.query(
    'select order_no, posting_no, amount::text from ledger.postings order by order_no collate "C", posting_no',
  );
  expect(texts).toEqual(stored.map((row) => Object.values(row)));
  const [[wrong, absent] = []] = await ask(`
    select count(*) filter (where amount is not null and amount <> try_cast(amount_text as decimal(38,18)))::int,
           count(*) filter (where amount is null)::int from '${path}'`);
  expect([wrong, Number(absent) > 0]).toEqual([0, true]);
  const cookbook = readFileSync('docs/cookbook.md', 'utf8');
  const [, recipe = ''] = /duckdb -c "([^"]*)"/.exec(cookbook) ?? [];
  const credited = await ask(recipe.replace('books.parquet', path));
  const [customers] = await books.query(`
    select count(*)::int from (select from ledger.postings where account like 'liabilities:customers:%'
                                group by account, symbol) as c`);
  expect([credited.length, Number(customers?.['count']) > 10]).toEqual([
    customers?.['count'],
    true,
  ]);
  const kinds = await ask(
    `select column_name, column_type from (describe select * from '${path}')`,
  );
  expect(Object.fromEntries(kinds as [string, string][])).toMatchObject({
    amount: 'DECIMAL(38,18)',
    booked_at: 'TIMESTAMP WITH TIME ZONE',
    posting_no: 'INTEGER',
  });
}, 60_000);
