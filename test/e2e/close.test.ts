import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { type BookTool, bookTools, judgeJournal, sumsOf } from '../support/book-tools.ts';
import { withBookedWallet } from '../support/booked-wallet.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

const formats = ['hledger', 'beancount', 'ledger', 'csv', 'parquet'];
const tools: BookTool[] = ['hledger', 'beancount', 'ledger'];

/** A month of the past: `2026-03`, its first and its last day. */
function monthAgo(months: number): { month: string; from: string; to: string } {
  const now = new Date();
  const dayOf = (of: Date) => of.toISOString().slice(0, 10);
  const from = dayOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)));
  const to = dayOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months + 1, 0)));
  return { month: from.slice(0, 7), from, to };
}

async function exported({ env }: Service, format: string, from: string, to: string) {
  const folder = temporaryFolder();
  const path = join(folder, 'books');
  const period = ['--from', from, '--to', to, '--out', path];
  const { code, stderr } = await runProgram(['export', '--format', format, ...period], env);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^exported/)]);
  return { path, said: stderr, digest: sha256(readFileSync(path)) };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Digests of the exports of a period, by format. */
async function digests(
  service: Service,
  from: string,
  to: string,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const format of formats) found[format] = (await exported(service, format, from, to)).digest;
  return found;
}

async function close(service: Service, ...args: string[]) {
  const { code, stdout, stderr } = await runProgram(['close', ...args], service.env);
  return { code, stdout, stderr };
}

async function listed(service: Service) {
  const { code, stdout } = await close(service, 'list', '--json');
  return { code, months: JSON.parse(stdout).months as Record<string, unknown>[] };
}

/** All that may happen to the rows of a month after it was closed. */
const aftermath = (from: string) => `
  insert into ledger.transactions (order_no, stream, symbol, amount, fee, fee_symbol, is_success, is_final, state,
                                   occurred_at, detail_synced_at, to_address)
  values ('late', 'deposit', 'LATE', 1e-30, 0.5, 'ETH', true, true, 'success', '${from} 12:00Z', now(), 'somewhere');
  create temporary table of_month as
    select order_no, row_number() over (order by order_no) as n from ledger.transactions
     where is_success and is_listed and occurred_at >= '${from} 00:00Z' and occurred_at < '${from} 00:00Z'::timestamptz + interval '25 days';
  update ledger.transactions set amount = amount + 0.125 where order_no in (select order_no from of_month where n = 1);
  update ledger.transactions set is_listed = false where order_no in (select order_no from of_month where n = 2);
  update ledger.transactions set symbol = 'OTHER', tx_hash = 'new' where order_no in (select order_no from of_month where n = 3);
  update ledger.transactions set occurred_at = occurred_at - interval '90 days' where order_no in (select order_no from of_month where n = 4);
  delete from ledger.transactions where order_no in (select order_no from of_month where n = 5);
  update ledger.transactions set state = state || ' ' where order_no in (select order_no from of_month where n = 6);
  drop table of_month;
  update ledger.accounts set name = 'assets:renamed' where role = 'custody';
  update ledger.accounts set name = 'liabilities:owed' where role = 'customers';
  delete from ledger.accounts where role = 'fees';
  insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, first_seen_at)
  select 61, a.to_address, 'assigned', 'known later ' || row_number() over (), now(), now()
    from (select distinct t.to_address from ledger.transactions t
           where t.stream = 'deposit' and t.to_address not in (select address from ledger.addresses)) as a;
  insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
  values (0, 'BTC', '', 12345, 0, '${from} 18:00Z')`;

test('the export of a closed month stays the same byte for byte, whatever comes, changes or is renamed', async () => {
  const service = await withBookedWallet(800);
  const { month, from, to } = monthAgo(4);
  const open = await digests(service, from, to);
  const closing = await close(service, month);
  expect([closing.code, closing.stdout, closing.stderr]).toEqual([
    0,
    expect.stringContaining(`${month} is closed`),
    '',
  ]);
  expect(await digests(service, from, to)).toEqual(open);
  const part = [`${month}-07`, `${month}-19`] as const;
  const ofPart = await digests(service, ...part);
  const [row] = await service.query(`
    select c.transactions::int, c.digest,
           (select count(distinct order_no)::int from ledger.postings
             where booked_at >= '${from} 00:00Z' and booked_at < '${to} 00:00Z'::timestamptz + interval '1 day') as booked
      from ledger.closed_months c`);
  expect(row).toMatchObject({ digest: open['csv'], transactions: row?.['booked'] });
  expect(Number(row?.['booked'])).toBeGreaterThan(10);

  await service.query(aftermath(from));
  expect(await digests(service, from, to)).toEqual(open);
  expect(await digests(service, ...part)).toEqual(ofPart);
  const again = await close(service, month);
  expect([again.code, again.stdout]).toEqual([
    0,
    expect.stringMatching(/was already closed at [\s\S]*late entries, /),
  ]);
  expect(await digests(service, from, to)).toEqual(open);

  const { code, months } = await listed(service);
  expect([code, months]).toEqual([
    0,
    [
      expect.objectContaining({
        month,
        digest: open['csv'],
        isIntact: true,
        transactions: row?.['booked'],
      }),
    ],
  ]);
  const late = await service.query(`
    select symbol, count(*)::int as entries, count(distinct order_no)::int as orders, trim_scale(sum(amount_change))::text as amount,
           count(*) filter (where amount_change = 0)::int as "withoutAmount"
      from ledger.late_entries group by symbol order by symbol collate "C"`);
  expect(months[0]?.['late']).toEqual(late);
  expect(late).toContainEqual({
    symbol: 'LATE',
    entries: 1,
    orders: 1,
    amount: '0.000000000000000000000000000001',
    withoutAmount: 0,
  });
  const words = await close(service, 'list');
  expect([words.code, words.stdout]).toEqual([0, expect.stringContaining('late entries')]);
  const [entry] = await service.query(
    'select count(*)::int as zero from ledger.late_entries where amount_change = 0',
  );
  expect(words.stdout).toMatch(new RegExp(`late entries, ${entry?.['zero']} of which changes? no`));
}, 600_000);

test('kept books that were changed by hand are found by their digest', async () => {
  const service = await withBookedWallet(200);
  const { month } = monthAgo(4);
  expect(await close(service, month)).toMatchObject({ code: 0 });
  expect(await listed(service)).toMatchObject({ code: 0, months: [{ month, isIntact: true }] });
  await service.query(
    `update ledger.closed_books set cells[6] = '1' where part = 'postings' and no = 3`,
  );
  expect(await listed(service)).toMatchObject({ code: 3, months: [{ isIntact: false }] });
  expect(await close(service, 'list')).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('digest differs'),
  });
}, 120_000);

test('several closed months are one journal, with what changed between their closings as a transaction: with hledger, with beancount, with ledger', async () => {
  const service = await withBookedWallet(800);
  const [first, second] = [monthAgo(5), monthAgo(4)];
  expect(await close(service, first.month)).toMatchObject({ code: 0 });
  await service.query(`
    update ledger.balance_changes set balance = balance + 3 where symbol = 'BTC' and observed_at >= '${second.from} 00:00Z';
    update ledger.transactions t set amount = amount + 3
     where order_no = (select min(order_no) from ledger.transactions
                        where symbol = 'BTC' and stream = 'deposit' and is_success
                          and occurred_at >= '${first.from} 00:00Z' and occurred_at < '${second.from} 00:00Z')`);
  await service.query(`update ledger.accounts set name = 'assets:renamed' where role = 'custody'`);
  expect(await close(service, second.month)).toMatchObject({ code: 0 });
  const rows = await service.query(`
    select symbol, trim_scale(sum(amount))::text as sum from ledger.postings
     where account = 'assets:renamed' and booked_at < '${second.to} 00:00Z'::timestamptz + interval '1 day'
     group by symbol having sum(amount) <> 0`);
  const sums = new Map(rows.map(({ symbol, sum }) => [String(symbol), String(sum)]));
  for (const tool of tools) {
    const { path, said } = await exported(service, tool, first.from, second.to);
    expect(said).toContain(`as closed: ${first.month}, ${second.month}`);
    const journal = readFileSync(path, 'utf8');
    const remark = '"?came or changed after the month before was closed';
    expect(journal).toMatch(new RegExp(`^${second.from} \\* ${remark}`, 'm'));
    const dates = [...journal.matchAll(/^(\d{4}-\d\d-\d\d) \*/gm)].map(([, day]) => day ?? '');
    expect(dates.toSorted((a, b) => a.localeCompare(b))).toEqual(dates);
    if (bookTools[tool] === undefined) continue;
    expect([tool, await judgeJournal(tool, path)]).toEqual([tool, '']);
    if (tool === 'beancount') continue;
    const own = [...(await sumsOf(tool, path, 'assets:renamed'))].map(([coin, sum]) => [
      coin,
      sum.includes('.') ? sum.replace(/\.?0+$/, '') : sum,
    ]);
    expect(new Map(own as [string, string][])).toEqual(sums);
  }
}, 600_000);

test('a month before a closed one is closed only where nothing has come or changed in between', async () => {
  const service = await withBookedWallet(400);
  const [first, second] = [monthAgo(5), monthAgo(4)];
  expect(await close(service, second.month)).toMatchObject({ code: 0 });
  const add = (amount: number) =>
    service.query(`
      update ledger.transactions t set amount = amount + ${amount}
       where order_no = (select min(order_no) from ledger.transactions
                          where symbol = 'BTC' and stream = 'deposit' and is_success
                            and occurred_at >= '${first.from} 00:00Z' and occurred_at < '${second.from} 00:00Z')`);
  await add(3);
  expect(await close(service, first.month)).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(
      new RegExp(`${second.month} is closed and begins with other sums .*\\(BTC of `),
    ),
  });
  expect(await service.query('select distinct month::text from ledger.closed_books')).toEqual([
    { month: second.from },
  ]);
  await add(-3);
  expect(await close(service, first.month)).toMatchObject({ code: 0 });
  const { path } = await exported(service, 'hledger', first.from, second.to);
  expect(readFileSync(path, 'utf8')).not.toContain('came or changed after');
}, 300_000);

test('a row from before the first closed month that comes late is named, with the amount of the correction', async () => {
  const service = await withBookedWallet(400);
  const [first, second] = [monthAgo(5), monthAgo(4)];
  expect(await close(service, first.month)).toMatchObject({ code: 0 });
  expect((await close(service, first.month)).stdout).toContain('nothing came or changed');
  await service.query(`
    insert into ledger.transactions (order_no, stream, symbol, amount, is_success, is_final, state, occurred_at, detail_synced_at)
    values ('before', 'withdraw', 'BTC', 2, true, true, 'success', '${first.from} 00:00Z'::timestamptz - interval '9 days', now());
    update ledger.balance_changes set balance = balance - 2
     where symbol = 'BTC' and observed_at >= '${first.from} 00:00Z'::timestamptz - interval '9 days';
    update ledger.streams set service_total = ledger_count where name in ('deposit', 'withdraw');
    update ledger.coverage set verified_at = now()`);
  const words = /1 late entry, .*\n {4}BTC {2}changes custody by -2, in 1 transaction\n/;
  expect((await close(service, 'list')).stdout).toMatch(words);
  expect(await close(service, first.month)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(words),
  });
  expect(JSON.parse((await close(service, first.month, '--json')).stdout)).toMatchObject({
    outcome: 'already',
    lateEntries: 1,
    late: [{ symbol: 'BTC', amount: '-2', orders: 1 }],
  });
  expect(await close(service, second.month)).toMatchObject({ code: 0 });
  const { path } = await exported(service, 'hledger', first.from, second.to);
  expect(readFileSync(path, 'utf8')).toMatch(
    /came or changed after the month before was closed[^\n]*\n +assets:custody {2}-2(\.0+)? BTC\n/,
  );
}, 300_000);

test('a month that is not proven complete is not closed, and the reasons are named', async () => {
  const { month, from, to } = monthAgo(2);
  const unread = await withService({ transactions: 0 });
  expect((await runProgram(['migrate'], unread.env)).code).toBe(0);
  expect(await close(unread, month)).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('has never been read'),
  });

  const service = await withBookedWallet(600);
  const ofMonth = `occurred_at >= '${from} 00:00Z' and occurred_at < '${to} 00:00Z' and is_success`;
  const one = `order_no = (select min(order_no) from ledger.transactions where ${ofMonth})`;
  const cases: [string, string, RegExp][] = [
    [
      `update ledger.transactions set is_final = false where ${one}`,
      `update ledger.transactions set is_final = true where ${one}`,
      /1 transaction is not final yet \(/,
    ],
    [
      `update ledger.transactions set detail_synced_at = null where ${one}`,
      `update ledger.transactions set detail_synced_at = now() where ${one}`,
      /1 transaction has no detail yet \(/,
    ],
    [
      `update ledger.transactions set amount = null where ${one}`,
      `update ledger.transactions set amount = 1 where ${one}`,
      /1 value is not known \(amount of /,
    ],
    [
      `insert into ledger.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
       select 'transaction-list', order_no, 'amount', 'not a number', '{}', 'f', now(), now()
         from ledger.transactions where ${one}`,
      'delete from ledger.rejects',
      /1 value could not be read when the service showed it last \(amount of /,
    ],
    [
      `update ledger.streams set doubt = 'the total fell' where name = 'withdraw'`,
      `update ledger.streams set doubt = null`,
      /the list of withdrawals is not proven complete: the total fell/,
    ],
    [
      `update ledger.streams set last_success_at = '${to} 12:00Z' where name = 'deposit'`,
      `update ledger.streams set last_success_at = now()`,
      /the list of deposits has not been read since the month ended/,
    ],
    [
      `update ledger.coverage set verified_at = null where day = (select max(day) from ledger.coverage where day <= '${to}')`,
      `update ledger.coverage set verified_at = now()`,
      /1 day \(\d{4}-\d\d-\d\d\)/,
    ],
    [
      `insert into ledger.closed_months values ('${monthAgo(4).from}', now(), 0, '')`,
      'delete from ledger.closed_months',
      new RegExp(`close ${monthAgo(3).month} first$`, 'm'),
    ],
    [
      `insert into ledger.closed_months values ('${monthAgo(5).from}', now(), 0, '')`,
      'delete from ledger.closed_months',
      new RegExp(`close ${monthAgo(4).month} first, then those that follow it$`, 'm'),
    ],
    [
      `insert into ledger.closed_months values ('${monthAgo(0).from}', now(), 0, '')`,
      'delete from ledger.closed_months',
      new RegExp(`close ${monthAgo(1).month} first$`, 'm'),
    ],
  ];
  for (const [spoil, cure, reason] of cases) {
    await service.query(spoil);
    const before = await service.query('select month from ledger.closed_months');
    const { code, stdout } = await close(service, month);
    expect([code, stdout]).toEqual([3, expect.stringMatching(reason)]);
    expect(stdout.trim().split('\n')).toHaveLength(2);
    expect(await service.query('select month from ledger.closed_months')).toEqual(before);
    await service.query(cure);
  }
  const current = await close(service, monthAgo(0).month, '--json');
  expect([current.code, JSON.parse(current.stdout)]).toEqual([
    3,
    {
      month: monthAgo(0).month,
      outcome: 'refused',
      reasons: [expect.stringContaining('has not ended yet')],
    },
  ]);
  const [{ first } = {}] = await service.query(
    `select to_char(min(occurred_at) at time zone 'UTC', 'YYYY-MM') as first from ledger.transactions`,
  );
  expect(await close(service, '2009-12')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(`${first} is the first month with transactions`),
  });
  for (const word of ['2026-13', '2026', 'march', '0000-01'])
    expect(await close(service, word)).toMatchObject({ code: 2, stdout: '' });
  expect(await close(service, 'list')).toMatchObject({ code: 0, stdout: 'no month is closed\n' });
  expect(await close(service, month)).toMatchObject({ code: 0 });
}, 300_000);

/** A ledger with one transaction, of two months ago. */
async function withLittleHistory(): Promise<Service> {
  const service = await withService({ transactions: 0 });
  expect((await runProgram(['backfill'], service.env)).code).toBe(0);
  await service.query(`
    insert into ledger.transactions (order_no, stream, symbol, amount, state, is_success, is_final, occurred_at,
                                     detail_synced_at)
    values ('o-1', 'deposit', 'BTC', 1, 'success', true, true, '${monthAgo(2).from} 12:00Z', now())`);
  await service.query(`
    update ledger.streams set service_total = ledger_count;
    update ledger.coverage set verified_at = now()`);
  return service;
}

test('no month is closed before the first transaction that the service lists, nor without any', async () => {
  const service = await withService({ transactions: 0 });
  expect((await runProgram(['backfill'], service.env)).code).toBe(0);
  const { month } = monthAgo(1);
  for (const empty of ['1999-01', month])
    expect(await close(service, empty)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('there is no transaction yet'),
    });
  // A transaction that the service does not list any more is not in the books.
  await service.query(`
    insert into ledger.transactions (order_no, stream, symbol, amount, state, is_success, is_final, is_listed,
                                     occurred_at, detail_synced_at)
    values ('o-1', 'deposit', 'BTC', 1, 'success', true, true, false, '1999-01-05 12:00Z', now())`);
  await service.query(`update ledger.streams set service_total = ledger_count`);
  expect(await close(service, '1999-01')).toMatchObject({ code: 2 });
  // A transaction without a time belongs to the month in which it was first seen.
  await service.query(
    `update ledger.transactions set is_listed = true, occurred_at = null, first_seen_at = '${monthAgo(3).from} 12:00Z'`,
  );
  await service.query(`update ledger.streams set service_total = ledger_count`);
  expect(await close(service, monthAgo(4).month)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${monthAgo(3).month} is the first month with transactions`),
  });
  expect(await close(service, 'list')).toMatchObject({ stdout: 'no month is closed\n' });
  expect(await close(service, monthAgo(3).month)).toMatchObject({ code: 0 });
}, 120_000);

test.each([
  ['equity:withdrawn', 'fees', 'the roles withdrawn and fees have one account'],
  ['assets:Custody', 'withdrawn', 'the roles custody and withdrawn have one account'],
  ['liabilities:customers:alice', 'fees', 'the account of fees, '],
  ['liabilities', 'custody', 'the account of customers, '],
  ['equity:opening', 'customers', 'the roles customers and opening balances have one account'],
  ['equity:withdrawn:fees', 'fees', null],
])(
  '%s for the role %s: accounts that overlap are neither exported nor closed',
  async (name, role, words) => {
    const service = await withLittleHistory();
    const { month, from, to } = monthAgo(2);
    await service.query(`update ledger.accounts set name = '${name}' where role = '${role}'`);
    const verdict =
      words === null
        ? { code: 0 }
        : {
            code: 2,
            stdout: '',
            stderr: expect.stringContaining(`accounts of the books overlap: ${words}`),
          };
    expect(await close(service, month)).toMatchObject(verdict);
    for (const format of formats.slice(0, 4))
      expect([
        format,
        await runProgram(['export', '--format', format, '--from', from, '--to', to], service.env),
      ]).toMatchObject([format, words === null ? { code: 0 } : verdict]);
  },
  120_000,
);

/** Starts a closing that has kept the books and now waits for a writer. */
async function closingThatWaits(service: Service, month: string) {
  const writer = new Client({ connectionString: service.env['DATABASE_URL'] });
  await writer.connect();
  onTestFinished(() => writer.end());
  await writer.query(`begin; update ledger.transactions set observed_at = observed_at
    where order_no = (select min(order_no) from ledger.transactions)`);
  const closing = startProgram(['close', month], service.env);
  await until(async () => {
    const [row] = await service.query(
      `select count(*)::int as waiting from pg_locks where locktype = 'advisory' and classid = 7246012 and not granted`,
    );
    return row?.['waiting'] === 1;
  });
  return { writer, closing };
}

test('a closing that is killed or interrupted leaves nothing, and what is written meanwhile is in the books', async () => {
  const service = await withBookedWallet(400);
  const { month, from, to } = monthAgo(3);
  const nobodyCloses = () =>
    until(async () => {
      const [row] = await service.query(
        `select count(*)::int as locks from pg_locks where relation = 'ledger.closed_months'::regclass`,
      );
      return row?.['locks'] === 0;
    });
  const killed = await closingThatWaits(service, month);
  killed.closing.process.kill('SIGKILL');
  await killed.closing.ended;
  await killed.writer.query('commit');
  const left = () =>
    service.query(
      'select (select count(*)::int from ledger.closed_months) as months, (select count(*)::int from ledger.closed_books) as lines',
    );
  await nobodyCloses();
  expect(await left()).toEqual([{ months: 0, lines: 0 }]);

  const stopped = await closingThatWaits(service, month);
  stopped.closing.process.kill('SIGINT');
  expect(await stopped.closing.ended).toMatchObject({ code: 130 });
  await stopped.writer.query('commit');
  await nobodyCloses();
  expect(await left()).toEqual([{ months: 0, lines: 0 }]);

  const { writer, closing } = await closingThatWaits(service, month);
  const other = startProgram(['close', month], service.env);
  await writer.query(`
    update ledger.transactions set amount = 777 where order_no = (
      select min(order_no) from ledger.transactions
       where is_success and stream = 'deposit' and occurred_at >= '${from} 00:00Z' and occurred_at < '${to} 00:00Z');
    commit`);
  const ended = await Promise.all([closing.ended, other.ended]);
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  const csv = readFileSync((await exported(service, 'csv', from, to)).path, 'utf8');
  expect(csv.match(/,-?777,/g)).toHaveLength(2);
  expect(await service.query('select * from ledger.late_entries')).toEqual([]);
  expect(await listed(service)).toMatchObject({ code: 0, months: [{ month, isIntact: true }] });
}, 300_000);
