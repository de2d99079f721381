import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import { connectLedger, type Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { readStatus } from '../../src/ledger/reports/read-status.ts';
import { type StatusReport, toStatusJson } from '../../src/status/status-report.ts';
import { recordLog } from '../support/record-log.ts';
import { startPostgres } from '../support/start-postgres.ts';
import { openHttp } from '../support/with-http.ts';

const pools = [
  { slip44: 60, threshold: 2, target: 10 },
  { slip44: 0, threshold: 1, target: 5 },
];
let postgres: Awaited<ReturnType<typeof startPostgres>>;
let ledger: Ledger;

beforeAll(async () => {
  postgres = await startPostgres({ isMigrated: true });
  const { connectionString } = postgres;
  ledger = connectLedger({ connectionString, poolSize: 2, log: recordLog().log });
});

afterAll(async () => {
  await ledger.close();
  await postgres.close();
});

test('without a schema the error names it', async () => {
  const database = await startPostgres();
  onTestFinished(() => database.close());
  const empty = connectLedger({ ...database, poolSize: 1, log: recordLog().log });
  onTestFinished(() => empty.close());
  const failure = await readStatus(empty.db, pools).catch((error) => error);
  expect(failure).toBeInstanceOf(LedgerError);
  expect(failure.message).toContain('does not exist');
  expect(failure.message).not.toContain('select');
});

test('an empty ledger has a status', async () => {
  const status = await readStatus(ledger.db, pools);
  expect(status).toEqual({
    readAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    problems: ['deposit', 'withdraw'].map((name) => ({
      name: 'stream_unread',
      severity: 'warning',
      since: null,
      what: `${name} has not been read yet`,
      cure: expect.stringContaining('wallet-ledger start'),
      wallet: 'main',
    })),
    wallets: [
      {
        name: 'main',
        isResting: false,
        counts: {
          transactions: { total: 0, incomplete: 0, final: 0, detailsToFetch: 0, detailsRefused: 0 },
          rejects: 0,
          unexpectedDeposits: { foreign: 0, unknown: 0 },
        },
      },
    ],
    streams: [],
    coverage: [],
    transactions: { total: 0, incomplete: 0, final: 0, detailsToFetch: 0, detailsRefused: 0 },
    rejects: 0,
    pools: pools.map((pool) => ({
      wallet: 'main',
      ...pool,
      available: 0,
      chain: null,
      daysLeft: null,
      lastError: null,
    })),
    unexpectedDeposits: { foreign: 0, unknown: 0 },
    balances: [],
    balanceCount: 0,
    unexplainedDifferences: [],
    processes: 1,
    feed: [],
    lastRuns: [],
    lastErrors: [],
  });
});

test('counts, streams, pools, balances, runs and errors equal those of the tables', async () => {
  await fill();
  const status = await readStatus(ledger.db, pools);
  expect(status.transactions).toEqual({
    total: 6_000_000_001,
    incomplete: 5,
    final: 5_999_999_997,
    detailsToFetch: 2,
    detailsRefused: 1,
  });
  expect(status.rejects).toBe(1);
  expect(status.pools.map(({ available }) => available)).toEqual([3, 0]);
  expect(status.streams.map(({ name }) => name)).toEqual(['deposit', 'withdraw', 'addresses:60']);
  expect(status.streams[0]).toEqual({
    wallet: 'main',
    name: 'deposit',
    listOrder: 'newest-first',
    pageSize: 50,
    serviceTotal: 6_000_000_000,
    ledgerCount: 6_000_000_000,
    isComplete: true,
    lagSeconds: 90,
    verifiedThrough: '2026-03-03T00:00:00Z',
    notCompleteBecause: null,
    lastError: null,
    finalChanges: 0,
  });
  expect(status.streams[1]).toMatchObject({ lagSeconds: null, lastError: 'HTTP 500' });
  expect(status.streams[1]?.notCompleteBecause).toBe(
    'the list has not been read from end to end yet',
  );
  expect(status.coverage).toEqual([
    {
      wallet: 'main',
      stream: 'deposit',
      days: [
        { day: daysAgo(365), transactions: 4, verifiedAt: '2026-03-04T00:00:00Z' },
        { day: daysAgo(1), transactions: 5, verifiedAt: '2026-03-05T00:00:00Z' },
      ],
      olderDays: 2,
      olderTransactions: 5,
      olderNeverVerified: 0,
      olderVerifiedThrough: '2026-03-03T00:00:00Z',
    },
  ]);
  expect(status.balances).toEqual([
    {
      wallet: 'main',
      symbol: 'ETH',
      chain: 'Ethereum',
      balance: '12345678901234567890.10',
      frozen: null,
      history: [
        { at: '2026-01-01T00:00:00Z', balance: '1.0' },
        { at: '2026-01-02T00:00:00Z', balance: null },
        { at: '2026-01-03T00:00:00Z', balance: '12345678901234567890.10' },
      ],
    },
  ]);
  expect(status.lastRuns.map(({ job, outcome }) => [job, outcome])).toEqual([
    ['balances', 'failed'],
    ['details', 'done'],
  ]);
  expect(status.lastErrors.map((error) => error.message)).toEqual(['HTTP 500', 'new', 'old']);
});

test('status --json has the documented keys and the exact amounts of the service', async () => {
  const queue: StatusReport['queue'] = {
    backend: 'postgres',
    waiting: 0,
    active: 0,
    failed: 0,
    isPaused: false,
    heldBy: null,
    refusal: null,
  };
  const json = JSON.parse(toStatusJson({ ...(await readStatus(ledger.db, pools)), queue }));
  const first = ['verdict', 'problems', 'wallets', 'streams', 'transactions', 'rejects', 'pools'];
  const keys = [...first, 'queue', 'lastErrors'];
  expect(Object.keys(json).slice(0, keys.length)).toEqual(keys);
  expect(json.verdict).toBe('attention');
  expect(Object.keys(json.problems[0])).toEqual([
    ...['name', 'severity', 'since', 'what', 'cure', 'wallet'],
  ]);
  expect(json.wallets).toEqual([expect.objectContaining({ name: 'main', isResting: false })]);
  const streamKeys = ['name', 'listOrder', 'pageSize', 'serviceTotal', 'ledgerCount', 'isComplete'];
  expect(Object.keys(json.streams[0])).toEqual([
    'wallet',
    ...streamKeys,
    'lagSeconds',
    'verifiedThrough',
    'notCompleteBecause',
    'lastError',
    'finalChanges',
  ]);
  expect(json.coverage).toBeUndefined();
  expect(Object.keys(json.pools[0])).toEqual([
    ...['wallet', 'slip44', 'available', 'threshold', 'target', 'chain', 'daysLeft', 'lastError'],
  ]);
  expect(json.balances[0].balance).toBe('12345678901234567890.10');
});

test('the status page shows the contents of the tables, or an error message for a lost database', async () => {
  const { connectionString } = postgres;
  const own = connectLedger({ connectionString, poolSize: 1, log: recordLog().log });
  const read = async (): Promise<StatusReport> => ({
    ...(await readStatus(own.db, pools)),
    queue: {
      backend: 'postgres',
      waiting: 0,
      active: 0,
      failed: 0,
      isPaused: false,
      heldBy: null,
      refusal: null,
    },
  });
  const http = await openHttp({ readStatus: read });
  try {
    const page = await (await fetch(http.url)).text();
    expect(page).toContain('service says 6,000,000,000 · ledger holds 6,000,000,000');
    expect(page).toContain('12345678901234567890.10');
    await own.close();
    await expect
      .poll(async () => await (await fetch(http.url)).text(), { timeout: 60_000 })
      .toContain('The status cannot be read');
  } finally {
    await http.close();
  }
});

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

/**
 * Ten transactions (and a list that counts more): three of them not final, one more that is not final and no longer
 * listed, two final ones whose detail is due; a little of everything else.
 */
async function fill(): Promise<void> {
  const { db } = ledger;
  await db.execute(sql`
    insert into ledger.transactions (order_no, stream, is_final, is_listed, first_seen_at, changed_at,
                                     observed_at, observation)
    select 'o' || n, 'deposit', n > 3 and n <> 9, n <> 9, now(), now(), now(), n
      from generate_series(1, 10) as n`);
  await db.execute(sql`
    insert into engine.detail_checks (order_no, is_final, turn, refusals) select 'o' || n, n > 3, 0, (n > 4)::int * 14 from generate_series(1, 5) as n`);
  await db.execute(sql`
    insert into ledger.streams (name, list_order, page_size, service_total, ledger_count, is_backed, last_success_at,
                                last_error, last_error_at) values
      ('addresses:60', null, null, null, 0, false, null, null, null),
      ('withdraw', null, null, null, 0, false, null, 'HTTP 500', now()),
      ('deposit', 'newest-first', 50, 6000000000, 6000000000, true, now() - interval '90.5 seconds', null, now())
    on conflict (wallet, name) do update
      set list_order = excluded.list_order, page_size = excluded.page_size, service_total = excluded.service_total,
          ledger_count = excluded.ledger_count, is_backed = excluded.is_backed,
          last_success_at = excluded.last_success_at, last_error_at = excluded.last_error_at`);
  await db.execute(sql`
    insert into ledger.coverage (stream, day, transactions, verified_at)
    select 'deposit', (now() at time zone 'UTC')::date - age, n, at::timestamptz + interval '1 second'
      from (values (500, 2, '2026-03-03Z'), (366, 3, '2026-03-03Z'), (365, 4, '2026-03-04Z'), (1, 5, '2026-03-05Z'),
                   (3, 0, null)) as c (age, n, at)`);
  await db.execute(sql`update ledger.coverage set verified_at = verified_at - interval '1 second'`);
  await db.execute(sql`
    insert into ledger.rejects (source, reason, payload, fingerprint, first_seen_at, last_seen_at, resolved_at) values
      ('coin-list', 'a', '{}', 'a', now(), now(), null), ('coin-list', 'b', '{}', 'b', now(), now(), now())`);
  await db.execute(sql`
    insert into ledger.addresses (slip44, address, status, first_seen_at)
    select 60, 'a' || n, case when n <= 3 then 'available' else 'foreign' end, now() from generate_series(1, 5) as n`);
  await db.execute(sql`
    insert into ledger.balances (slip44, symbol, contract_address, chain_name, balance, is_listed, observed_at,
                                 changed_at, observation) values
      (60, 'ETH', '', 'Ethereum', 12345678901234567890.10, true, now(), now(), 1),
      (60, 'OLD', '', 'Ethereum', 1, false, now(), now(), 1)`);
  await db.execute(sql`
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, observed_at) values
      (60, 'ETH', '', 1.0, '2026-01-01Z'), (60, 'ETH', '', null, '2026-01-02Z'),
      (60, 'ETH', '', 12345678901234567890.10, '2026-01-03Z')`);
  await db.execute(sql`
    insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted,
                                  rows_updated, error)
    select job, now() - age, now() - age, outcome, 1, 2, 3, 4, error
      from (values ('details', interval '3 minutes', 'failed', 'old'), ('details', interval '2 minutes', 'done', null),
                   ('balances', interval '1 minute', 'failed', 'new')) as r (job, age, outcome, error)`);
}

test('a value that cannot be read in list and detail counts once, as in the problem', async () => {
  await ledger.db.execute(sql`delete from ledger.rejects`);
  await ledger.db.execute(sql`insert into ledger.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
               select s, 'order-1', f, 'e', '{}', 'twice ' || s || f, now(), now()
                 from unnest(array['transaction-list', 'transaction-detail']) s, unnest(array['amount', 'time']) f
               union all select 'balance-list', null, 'balance', 'e', '{}', 'twice b', now(), now()
               union all select 'transaction-list', null, null, 'e', '{}', 'twice a', now(), now()`);
  onTestFinished(async () => void (await ledger.db.execute(sql`delete from ledger.rejects`)));
  const status = await readStatus(ledger.db, pools);
  expect(status.rejects).toBe(4);
  expect(status.wallets).toMatchObject([{ counts: { rejects: 4 } }]);
  expect(status.problems.find(({ name }) => name === 'rejects_open')).toMatchObject({
    what: '4 values could not be decoded',
  });
});
