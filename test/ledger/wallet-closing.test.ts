import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createBeancountJournal } from '../../src/export/beancount-journal.ts';
import { createPlainJournal } from '../../src/export/plain-journal.ts';
import { writeCsv } from '../../src/export/write-csv.ts';
import { writeJournal } from '../../src/export/write-journal.ts';
import { writeParquet } from '../../src/export/write-parquet.ts';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import type { Books } from '../../src/ledger/reports/books.ts';
import { closeMonth } from '../../src/ledger/reports/closing/close-month.ts';
import { listClosedMonths } from '../../src/ledger/reports/closing/list-closed-months.ts';
import { openBooks } from '../../src/ledger/reports/read-books.ts';
import { type TestLedger, withLedger } from '../support/with-ledger.ts';

const march = { from: '2026-03-01', to: '2026-03-31' };
const { signal } = new AbortController();

async function digestOf(pieces: AsyncIterable<string | Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

const csvDigest = (books: Books) => digestOf(writeCsv(books, () => undefined));
const counts = { transactions: 0, asserted: 0, contradicted: 0 };
const writers: Record<string, (books: Books) => AsyncIterable<string | Uint8Array>> = {
  csv: (books) => writeCsv(books, () => undefined),
  parquet: (books) => writeParquet(books, () => undefined),
  hledger: (books) => writeJournal(books, createPlainJournal('hledger'), { ...counts }),
  ledger: (books) => writeJournal(books, createPlainJournal('ledger'), { ...counts }),
  beancount: (books) => writeJournal(books, createBeancountJournal(books.names), { ...counts }),
};

async function exported(ledger: Ledger): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const [format, write] of Object.entries(writers)) {
    const { books, end } = await openBooks(ledger, march);
    digests[format] = await digestOf(write(books));
    await end();
  }
  return digests;
}

/** The same order numbers, addresses and coins in each wallet; amounts and references differ. A proven history. */
async function fill({ ledger }: TestLedger, wallet: string, unit: number): Promise<Ledger> {
  const own = ledger.forWallet(wallet);
  await own.pool.query(`
    insert into own.addresses (slip44, address, status, assigned_to, assigned_at, first_seen_at)
    select 60, '0x' || n, 'assigned', '${wallet}-' || n, '2026-01-01', '2026-01-01' from generate_series(1, 3) as n;
    insert into own.transactions (order_no, stream, symbol, amount, fee, fee_symbol, to_address, tx_hash, state, is_final,
                                  is_success, occurred_at, first_seen_at, detail_synced_at)
    select 'order-' || n, case n % 3 when 0 then 'withdraw' else 'deposit' end, case n % 2 when 0 then 'ETH' else 'USDT' end,
           n * ${unit}, ${unit} / 1000.0, 'ETH', '0x' || n % 5, 'hash-' || n, 'success', true, true,
           timestamptz '2026-02-15 00:00Z' + n * interval '5 hours', '2026-02-01', now()
      from generate_series(1, 300) as n;
    insert into own.balances (slip44, symbol, contract_address, balance, observed_at, changed_at, observation)
    values (60, 'ETH', '', 1, now(), now(), 1);
    insert into own.balance_changes (slip44, symbol, contract_address, balance, observed_at)
    select 60, 'ETH', '', n * ${unit}, timestamptz '2026-03-02 12:00Z' + n * interval '1 day' from generate_series(1, 20) as n;
    update own.streams set is_backed = true, service_total = ledger_count, last_success_at = now();
    update own.coverage set verified_at = now()`);
  return own;
}

test('export and closing of one wallet equal those of a ledger with that wallet alone; wallets can close at the same time', async () => {
  const both = await withLedger();
  const one = await fill(both, 'main', 2);
  const two = await fill(both, 'w2', 7);
  for (const [own, unit] of [
    [one, 2],
    [two, 7],
  ] as const) {
    const alone = await fill(await withLedger(), own.wallet, unit);
    expect([own.wallet, await exported(own)]).toEqual([own.wallet, await exported(alone)]);
    const closed = await closeMonth(own, march, { digestOf: csvDigest, signal });
    const expected = await closeMonth(alone, march, { digestOf: csvDigest, signal });
    expect(closed).toEqual({ ...expected, outcome: 'closed', closedAt: expect.any(String) });
    expect(await exported(own)).toEqual(await exported(alone));
  }
  await both.query(
    `update ledger.transactions set amount = amount + 1 where wallet = 'w2' and order_no = 'order-100'`,
  );
  const late = async (own: Ledger) =>
    (await listClosedMonths(own, { digestOf: csvDigest, signal })).map(
      ({ month, isIntact, lateEntries }) => ({ month, isIntact, lateEntries }),
    );
  expect(await late(one)).toEqual([{ month: '2026-03', isIntact: true, lateEntries: 0 }]);
  expect(await late(two)).toEqual([{ month: '2026-03', isIntact: true, lateEntries: 1 }]);
}, 120_000);

test('two wallets can close at the same time; the second closing of one wallet waits, and finds it done', async () => {
  const both = await withLedger();
  const [one, two] = [await fill(both, 'main', 2), await fill(both, 'w2', 7)];
  let goOn = () => {};
  const meeting = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let arrived = 0;
  const close = (own: Ledger) =>
    closeMonth(own, march, {
      signal,
      async digestOf(books) {
        arrived += 1;
        if (arrived === 2) goOn();
        await meeting;
        return await csvDigest(books);
      },
    });
  const closings = await Promise.all([close(one), close(two), close(one)]);
  expect(closings.map(({ outcome }) => outcome).sort()).toEqual(['already', 'closed', 'closed']);
  expect(arrived).toBe(2);
}, 120_000);

test('a row from before the month that changes while it is being closed is in what the month begins with', async () => {
  const both = await withLedger();
  const one = await fill(both, 'main', 2);
  let readings = 0;
  const closed = await closeMonth(one, march, {
    signal,
    async digestOf(books) {
      readings += 1;
      if (readings === 1)
        await one.pool.query(
          `update own.transactions set amount = amount + 1 where order_no = 'order-1'`,
        );
      return await csvDigest(books);
    },
  });
  expect([closed.outcome, readings]).toEqual(['closed', 2]);
  expect(await both.query('select * from ledger.late_entries')).toEqual([]);
  const [sums] = await both.query<{ kept: string; booked: string }>(`
    select (select sum(k.cells[3]::numeric) from ledger.closed_books k
             where k.part = 'carried' and k.cells[1] = 'USDT' and k.cells[2] = 'assets:custody') as kept,
           (select sum(p.amount) from ledger.postings p
             where p.symbol = 'USDT' and p.account = 'assets:custody' and p.booked_at < '2026-03-01 00:00Z') as booked`);
  expect(sums?.kept).toBe(sums?.booked);
});

test('a closing blocks the writers of its own wallet only', async () => {
  const both = await withLedger();
  const [one, two] = [await fill(both, 'main', 2), await fill(both, 'w2', 7)];
  const closing = await one.pool.connect();
  await closing.query('begin');
  await closing.query(
    `insert into own.closed_months (month, closed_at, transactions, digest) values ('2026-03-01', now(), 0, '')`,
  );
  const change = (own: Ledger) =>
    own.pool.query(
      `set lock_timeout = '500ms'; update own.transactions set amount = amount + 1 where order_no = 'order-100'`,
    );
  await change(two);
  await expect(change(one)).rejects.toMatchObject({ code: '55P03' });
  await closing.query('commit');
  closing.release();
  await change(one);
  expect(await both.query('select wallet, order_no, kind from ledger.late_entries')).toEqual([
    { wallet: 'main', order_no: 'order-100', kind: 'changed' },
  ]);
});
