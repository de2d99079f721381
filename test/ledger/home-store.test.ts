import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { acceptMove, acknowledgeMoves } from '../../src/ledger/accept-move.ts';
import { takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { resolveRequest } from '../../src/ledger/addresses/resolve-request.ts';
import {
  healHome,
  noticeForeign,
  readAway,
  requireHomeOfRequest,
} from '../../src/ledger/home-store.ts';
import { readMoves } from '../../src/ledger/move-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { settleHome } from '../../src/sync/settle-home.ts';
import { beginTransaction, untilBlocked } from '../support/begin-transaction.ts';
import { countRowsRead } from '../support/count-rows-read.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const opened = await withLedger();
const { ledger, connect, query, clear } = opened;
beforeEach(async () => {
  await clear();
  await query(`delete from ledger.stream_proofs`);
  await query(`insert into ledger.pools (slip44, threshold, target) values (60, 3, 5)`);
  await query(`insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, generated_by, first_seen_at)
    select 60, 'a' || n, case n when 1 then 'assigned' when 2 then 'used' when 3 then 'foreign' else 'available' end,
           case when n < 3 then 'customer-' || n end, case when n < 3 then now() end, 1, now() from generate_series(1, 6) n`);
  await query(
    `insert into ledger.streams (name, service_total, is_backed, ledger_count) values ('addresses:60', 6, true, 6)`,
  );
});

const move = () => query(`select engine.disturb_home('a snapshot was put back')`);
const statuses = async () =>
  (
    await query<{ of: string }>(
      `select string_agg(address || ' ' || status, ', ' order by address) as of from ledger.addresses`,
    )
  )[0]?.of;
const problems = () =>
  query(`select severity, what from ledger.problems where name = 'database_moved'`);
const settle = (onMove: 'heal' | 'stop', of = ledger) =>
  settleHome({ ledger: of, log: silentLog, settings: { onMove } });

const forgetMoves = () =>
  query(
    `update engine.home set begun_at = now() - interval '25 hours', own_xid = pg_current_xact_id()::xid`,
  );

/**
 * Returns the number of addresses that join the pool because of the list, which shows some more after a lost answer.
 */
async function resolveLost(num: number, shown = ['b1', 'b2'], ahead = '0'): Promise<number> {
  const [request] = await query<{ id: string }>(
    `insert into ledger.address_requests (slip44, num, state, requested_at)
     values (60, ${num}, 'unknown', now() + interval '${ahead}') returning id`,
  );
  await query(`insert into ledger.addresses (slip44, address, status, first_seen_at)
    select 60, a || ' of request ${request?.id}', 'foreign', now() from unnest('{${shown}}'::text[]) a`);
  return await ledger.transaction((db) => resolveRequest(db, Number(request?.id)));
}

/** Takes the lock that is held while the totals are added up. */
const lockOfTotals = 'select pg_advisory_xact_lock(7246007)';

/** Imitates a data-only restore into a database that has the tables and no rows. */
const loadElsewhere = () =>
  query(`update ledger.addresses set place = gen_random_uuid() where slip44 = 60`);

test('a move that was not recorded is dated to the last sign of life before it', async () => {
  await query(`insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
    values ('transactions', '2026-01-02T03:04:05Z', '2026-01-02T03:04:06Z', 'done', 1, 0, 0, 0)`);
  await loadElsewhere();
  const since = await query(`select since from ledger.problems where name = 'database_moved'`);
  expect(since).toEqual([{ since: new Date('2026-01-02T03:04:06Z') }]);
});

test('available addresses that were loaded from another database are not handed out in any session', async () => {
  // This session has found the database at home.
  expect(await takeAddress(ledger.db, 60, 'before')).not.toBeNull();
  await loadElsewhere();
  for (const session of [ledger, connect()]) {
    await expect(takeAddress(session.db, 60, 'another')).rejects.toMatchObject({
      cause: { code: 'WL001', message: expect.stringContaining('loaded from another database') },
    });
  }
  // The addresses that were still available are foreign after the move, so none is left to hand out.
  await settle('heal');
  expect(await statuses()).toContain('a5 foreign, a6 foreign');
  expect(await readAway(ledger.db)).toBeNull();
  expect(await takeAddress(ledger.db, 60, 'another')).toBeNull();
});

test('the home of the database is read without the available addresses', async () => {
  await query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
    select 60, 'b' || n, 'available', 1, now() from generate_series(1, 5000) n`);
  await query('analyze ledger.addresses');
  const client = await ledger.pool.connect();
  onTestFinished(() => client.release());
  await client.query('begin');
  const ask = () => client.query('select engine.home_state() as away');
  expect(await countRowsRead(client, 'addresses', ask)).toBeLessThan(10);
  await client.query(
    `update ledger.addresses set place = gen_random_uuid() where address in ('b1', 'b2')`,
  );
  expect((await ask()).rows).toEqual([{ away: expect.stringContaining('another database') }]);
  await client.query('rollback');
});

test('pools are not locked during a long rebuild of derived rows', async () => {
  await move();
  const folding = await beginTransaction(ledger, (db) => db.execute(lockOfTotals));
  const settled = Promise.all([settle('heal'), settle('heal', connect())]);
  await untilBlocked(opened, 2);
  await query('select from ledger.pools for update nowait');
  await folding.commit();
  await settled;
  expect([await readAway(ledger.db), await readMoves(ledger.db)]).toMatchObject([
    null,
    [{ setAside: 3 }],
  ]);
});

test('after rows of ledger.addresses were deleted the count of their list is corrected', async () => {
  await query(`delete from ledger.addresses where address = 'a3'`);
  await settle('heal');
  expect(await query(`select ledger_count from ledger.streams`)).toEqual([{ ledger_count: '5' }]);
});

test('after a load without a loss the loaded addresses are handed out again', async () => {
  await loadElsewhere();
  expect(await ledger.transaction((db) => acceptMove(db, ['main']))).toBe(0);
  await acknowledgeMoves(ledger.db, ['main']);
  expect(await readAway(ledger.db)).toBeNull();
  expect(await takeAddress(ledger.db, 60, 'another')).not.toBeNull();
});

test('an address that was paid while set aside is not handed out after a move without a loss', async () => {
  await move();
  await settle('heal');
  await ledger.transaction((db) =>
    storeListedTransactions(db, 'deposit', [listed({ state: 'pending', toAddress: 'a4' })]),
  );
  expect(await ledger.transaction((db) => acceptMove(db, ['main']))).toBe(2);
  expect(await statuses()).toContain('a4 foreign, a5 available, a6 available');
});

test('a healed move sets available addresses aside, closes open requests, and has the address lists read again', async () => {
  await query(`insert into ledger.address_requests (slip44, num, state, requested_at) values (60, 5, 'sent', now()),
    (195, 5, 'unknown', now()), (61, 5, 'done', now())`);
  await move();
  await expect(takeAddress(ledger.db, 60, 'another')).rejects.toMatchObject({
    cause: { code: 'WL001' },
  });
  const other = connect();
  await Promise.all([settle('heal'), settle('heal', other), settle('heal', other)]);
  expect(await statuses()).toBe(
    'a1 assigned, a2 used, a3 foreign, a4 foreign, a5 foreign, a6 foreign',
  );
  expect(await query('select state, received from ledger.address_requests order by id')).toEqual(
    Array(3).fill({ state: 'done', received: null }),
  );
  expect(await query('select is_backed, is_complete from ledger.streams')).toEqual([
    { is_backed: false, is_complete: false },
  ]);
  expect(await readMoves(ledger.db)).toMatchObject([{ setAside: 3, closedRequests: 2 }]);
  expect(await takeAddress(ledger.db, 60, 'another')).toBeNull();
  expect(await takeAddress(ledger.db, 60, 'customer-1')).toBe('a1');
  expect(await problems()).toEqual([
    {
      severity: 'warning',
      what: 'the database has moved (a snapshot was put back); 3 available addresses were set aside, 2 open requests for addresses closed',
    },
  ]);
});

test('an answer to a request from before a move is not stored', async () => {
  const [request] = await query<{ id: string }>(
    `insert into ledger.address_requests (slip44, num, state, requested_at) values (60, 5, 'sent', now()) returning id`,
  );
  const store = () =>
    ledger.transaction((db) =>
      requireHomeOfRequest(db, { id: Number(request?.id), slip44: 60, owner: null }),
    );
  await store();
  await move();
  await expect(store()).rejects.toMatchObject({ cause: { code: 'WL001' } });
  await settle('heal');
  await expect(store()).rejects.toMatchObject({ code: 'database-moved' });
});

test('an answer is not stored as that of a later request that has its number since a restore', async () => {
  const [request] = await query<{ id: string }>(
    `insert into ledger.address_requests (slip44, num, state, requested_at, owner)
     values (60, 5, 'sent', now(), 'other') returning id`,
  );
  const id = Number(request?.id);
  const store = (slip44: number, owner: string) =>
    ledger.transaction((db) => requireHomeOfRequest(db, { id, slip44, owner }));
  await store(60, 'other');
  await expect(store(61, 'other')).rejects.toMatchObject({ code: 'database-moved' });
  await expect(store(60, 'own')).rejects.toMatchObject({ code: 'database-moved' });
});

test('after a move no address of a lagging list is taken for the lost answer', async () => {
  await forgetMoves();
  expect(await resolveLost(2)).toBe(2);
  await move();
  await settle('heal');
  expect(await resolveLost(2)).toBe(0);
});

test('an address that was listed before the request is not its answer, although the clock went back meanwhile', async () => {
  await forgetMoves();
  await query(`insert into ledger.addresses (slip44, address, status, first_seen_at)
    values (60, 'made by an operator', 'foreign', now() + interval '1 hour')`);
  expect(await resolveLost(1, [])).toBe(0);
});

test('an address that comes after the request is its answer, although the clock went back meanwhile', async () => {
  await forgetMoves();
  expect(await resolveLost(1, ['b1'], '1 hour')).toBe(1);
});

test('a handed out address survives a crash, with any setting of the caller', async () => {
  const client = await ledger.pool.connect();
  try {
    await client.query('begin; set local synchronous_commit = off');
    expect((await client.query(`select ledger.take_address(60, 'c') as a`)).rows).toEqual([
      { a: 'a4' },
    ]);
    expect((await client.query('show synchronous_commit')).rows).toEqual([
      { synchronous_commit: 'on' },
    ]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test.each([
  ['the timeline of its log', `timeline = 'FFFFFFFF'`],
  ['its table', 'own_oid = 1'],
  ['the table of the addresses', 'addresses_oid = 1'],
  ['what else was noticed', `disturbed_by = 'a snapshot was put back'`],
  ['the row that says where it lives', ''],
])('a session that has found its home checks it again for %s', async (_what, change) => {
  const client = await ledger.pool.connect();
  try {
    const take = () => client.query(`select ledger.take_address(60, 'another') as address`);
    expect((await take()).rows).toEqual([{ address: 'a4' }]);
    // The state of the row after a move during this session, which knows the number of the row.
    await client.query(
      change === ''
        ? 'update engine.home set epoch = epoch'
        : `update engine.home set own_xid = pg_current_xact_id()::xid, ${change}`,
    );
    await client.query(
      `select set_config('wallet_ledger.home', own_xid::text, false) from engine.home`,
    );
    await expect(take()).rejects.toMatchObject({ code: 'WL001' });
  } finally {
    await client.query('reset all');
    await client.query(`update engine.home set (own_oid, addresses_oid, timeline) =
      (select own_oid, addresses_oid, timeline from engine.home_facts())`);
    client.release();
  }
});

test('with ON_MOVE=stop nothing changes until `recover`; after a move without loss all addresses return', async () => {
  await move();
  await settle('stop');
  await settle('stop');
  const before = 'a1 assigned, a2 used, a3 foreign, a4 available, a5 available, a6 available';
  expect(await statuses()).toBe(before);
  expect(await problems()).toMatchObject([{ severity: 'critical' }]);
  expect(await readMoves(ledger.db)).toMatchObject([{ healedAt: null }]);
  await ledger.transaction(async (db) => {
    await acceptMove(db, ['main']);
    await acknowledgeMoves(db, ['main']);
  });
  expect([await readAway(ledger.db), await statuses(), await problems()]).toEqual([
    null,
    before,
    [],
  ]);
  expect(await takeAddress(ledger.db, 60, 'another')).toBe('a4');
});

test('after a heal `same` restores only addresses that it set aside and nobody has used since', async () => {
  await move();
  await settle('heal');
  await move();
  await settle('heal');
  await query(`update ledger.addresses set status = 'used' where address = 'a4'`);
  await query(`update ledger.addresses set status = 'available' where address = 'a5'`);
  expect(await ledger.transaction((db) => acceptMove(db, ['main']))).toBe(1);
  expect(await statuses()).toBe(
    'a1 assigned, a2 used, a3 foreign, a4 used, a5 available, a6 available',
  );
});

test('without a row about its home the database counts as moved, and is healed', async () => {
  await query('truncate engine.home');
  expect(await readAway(ledger.db)).toContain('missing');
  expect(await ledger.transaction((db) => healHome(db))).toMatchObject({ setAside: 3 });
  expect(await readAway(ledger.db)).toBeNull();
});

test('if no other program generates addresses, a new foreign one is a sign of one, unless a request explains it', async () => {
  await query('update ledger.streams set is_backed = false');
  await query('update ledger.streams set is_backed = true');
  await noticeForeign(ledger.db, 60);
  expect(await readAway(ledger.db)).toBeNull();
  await query(
    `insert into ledger.address_requests (slip44, num, state, requested_at) values (60, 5, 'unknown', now())`,
  );
  const stranger = (name: string) =>
    query(
      `insert into ledger.addresses (slip44, address, status, first_seen_at) values (60, '${name}', 'foreign', now())`,
    );
  await stranger('explained');
  await noticeForeign(ledger.db, 60);
  expect(await readAway(ledger.db)).toBeNull();
  await query('delete from ledger.address_requests');
  await noticeForeign(ledger.db, 60);
  expect(await readAway(ledger.db)).toContain('generated elsewhere');
  await settle('heal');
  await query(`update ledger.streams set is_backed = true, ledger_count = service_total`);
  await noticeForeign(ledger.db, 60);
  expect(await readAway(ledger.db)).toBeNull();
});

test('an address that another chain lists as generated for it is no sign of another generator', async () => {
  await query('update ledger.streams set is_backed = false');
  await query('update ledger.streams set is_backed = true');
  const list = (slip44: number, name: string, generatedBy: number | null) =>
    query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
      values (${slip44}, '${name}', '${generatedBy === null ? 'foreign' : 'available'}', ${generatedBy}, now())`);
  // A request for another chain may generate it while it is open, and later if the chains share addresses.
  await query(
    `insert into ledger.address_requests (slip44, num, state, requested_at) values (966, 1, 'sent', now())`,
  );
  await list(60, 'shared', null);
  await noticeForeign(ledger.db, 60);
  expect(await readAway(ledger.db)).toBeNull();
  await list(966, 'shared', 1);
  await query(`update ledger.address_requests set state = 'done', received = 1`);
  await noticeForeign(ledger.db, 60);
  expect(await readAway(ledger.db)).toBeNull();
  await query(`update ledger.address_requests set received = 0`);
  await list(60, 'of a lost answer', null);
  await noticeForeign(ledger.db, 60);
  expect(await readAway(ledger.db)).toBeNull();
  await query('delete from ledger.address_requests');
  await noticeForeign(ledger.db, 60);
  expect(await readAway(ledger.db)).toContain('lists 1 addresses of chain 60');
});
