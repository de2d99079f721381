import { afterEach, expect, test, vi } from 'vitest';
import { leaseStream } from '../../src/ledger/lists/lease-store.ts';
import { countNotedKeys, forgetKeys, noteKeys } from '../../src/ledger/lists/scan-notes-store.ts';
import { saveEvenTotal, saveStream } from '../../src/ledger/lists/stream-state-store.ts';
import { releaseStream, restartStreams } from '../../src/ledger/lists/stream-store.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query, clear } = await withLedger();
const { db } = ledger;
afterEach(clear);

const row = {
  acceptedDifference: 0,
  doubt: null,
  listOrder: 'newest-first' as const,
  pageSize: 50,
  serviceTotal: 0,
  totalObservation: 5,
  checkpoint: { page: 7, text: "it's" },
  isBacked: true,
  hasWalked: true,
};

/** Saves the stream like a pass that knows the total of this answer. */
const save = (
  state: typeof row | (Omit<typeof row, 'serviceTotal'> & { serviceTotal: number | null }),
  known = 0,
) => saveStream(db, 'deposit', ledger.instance, known, state);

test('a stream belongs to one process at a time, which can acquire it again, and is free once released', async () => {
  const other = connect();
  await other.pool.query('select 1');
  await ledger.pool.query('select 1');
  expect(await leaseStream(db, 'deposit', ledger.instance)).toEqual({
    listOrder: null,
    pageSize: null,
    serviceTotal: null,
    totalObservation: 0,
    ledgerCount: 0,
    isBacked: false,
    acceptedDifference: 0,
    guests: 0,
    conflicts: 0,
    passes: 1,
    checkpoint: null,
    hasOpenRejects: false,
    isBeingRepaired: false,
    emptyForMs: null,
  });
  expect(await leaseStream(other.db, 'deposit', other.instance)).toBeUndefined();
  expect(await leaseStream(other.db, 'withdraw', other.instance)).toBeDefined();
  expect(await leaseStream(db, 'deposit', ledger.instance)).toBeDefined();
  await releaseStream(other.db, 'deposit', other.instance, 'not the owner');
  expect(await leaseStream(other.db, 'deposit', other.instance)).toBeUndefined();
  await releaseStream(db, 'deposit', ledger.instance, null);
  expect(await leaseStream(other.db, 'deposit', other.instance)).toBeDefined();
});

test('one of many concurrent requests for a new stream gets it', async () => {
  const others = [connect(), connect(), connect(), connect()];
  await Promise.all(others.map((other) => other.pool.query('select 1')));
  const leases = await Promise.all(
    others.map((other) => leaseStream(other.db, 'deposit', other.instance)),
  );
  expect(leases.filter((lease) => lease !== undefined)).toHaveLength(1);
});

test('the state that a pass saves is there for the next pass', async () => {
  await leaseStream(db, 'deposit', ledger.instance);
  expect(await save(row)).toEqual({
    counts: { ledgerCount: 0, guests: 0, conflicts: 0 },
    before: { serviceTotal: null, totalObservation: 0 },
  });
  expect(await leaseStream(db, 'deposit', ledger.instance)).toEqual({
    listOrder: 'newest-first',
    pageSize: 50,
    serviceTotal: 0,
    totalObservation: 5,
    ledgerCount: 0,
    isBacked: true,
    acceptedDifference: 0,
    guests: 0,
    conflicts: 0,
    passes: 2,
    checkpoint: row.checkpoint,
    hasOpenRejects: false,
    isBeingRepaired: false,
    emptyForMs: null,
  });
});

test('a pass that does not know the total stored concurrently stores nothing until it does', async () => {
  await leaseStream(db, 'deposit', ledger.instance);
  await save({ ...row, totalObservation: 1, isBacked: false });
  const beside = { serviceTotal: 1, totalObservation: 6 };
  expect(await saveEvenTotal(db, 'deposit', beside)).toBe(true);
  const stored = () => query('select service_total::int, page_size from ledger.streams');
  const pass = { ...row, totalObservation: 7, serviceTotal: 2, pageSize: 60 };
  expect(await save(pass, 1)).toEqual({ counts: null, before: beside });
  expect(await stored()).toEqual([{ service_total: 1, page_size: 50 }]);
  expect(await save(pass, beside.totalObservation)).toMatchObject({ before: beside });
  expect(await stored()).toEqual([{ service_total: 2, page_size: 60 }]);
});

test('a total of a concurrent pass that is older than the stored one proves nothing', async () => {
  await leaseStream(db, 'deposit', ledger.instance);
  await save(row);
  const told = (totalObservation: number) => ({ serviceTotal: 0, totalObservation });
  expect(await saveEvenTotal(db, 'deposit', told(row.totalObservation - 1))).toBe(false);
  expect(await saveEvenTotal(db, 'deposit', told(row.totalObservation + 1))).toBe(true);
});

test.each([
  [true, 0, true],
  [true, 1, false],
  [true, null, false],
  [false, 0, false],
])(
  'a stream backed by a full scan (%s) that the service counts as %s and the ledger as 0 is complete: %s',
  async (isBacked, serviceTotal, isComplete) => {
    await leaseStream(db, 'deposit', ledger.instance);
    await save({ ...row, isBacked, serviceTotal });
    expect(await query('select is_complete from ledger.streams')).toEqual([
      { is_complete: isComplete },
    ]);
  },
);

test.each([
  ['a doubt', `doubt = 'the rows of 1 day differ'`],
  ['a difference that stands', 'accepted_difference = 2'],
  ['a row that another list shows, too', 'conflicts = 1'],
])('equal counts behind a full scan prove nothing together with %s', async (_what, change) => {
  await leaseStream(db, 'deposit', ledger.instance);
  await save(row);
  await query(`update ledger.streams set ${change}`);
  expect(
    await query('select is_complete, not_complete_because as reason from ledger.streams'),
  ).toEqual([{ is_complete: false, reason: expect.any(String) }]);
});

test('an owner whose connections have ended loses the stream at once, and cannot write any more', async () => {
  const dead = connect();
  await leaseStream(dead.db, 'deposit', dead.instance);
  expect(await leaseStream(db, 'deposit', ledger.instance)).toBeUndefined();
  await ledger.pool.query(
    'select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = $1',
    [dead.instance],
  );
  await vi.waitFor(async () => {
    expect(await leaseStream(db, 'deposit', ledger.instance)).toBeDefined();
  });
  expect(await saveStream(dead.db, 'deposit', dead.instance, 0, row)).toBeUndefined();
  await releaseStream(dead.db, 'deposit', dead.instance, 'late');
  expect(await query('select checkpoint, lease_owner, last_error from ledger.streams')).toEqual([
    { checkpoint: null, lease_owner: ledger.instance, last_error: null },
  ]);
});

test('an expired lease is free although its owner is alive', async () => {
  const slow = connect();
  await leaseStream(slow.db, 'deposit', slow.instance);
  await query(`update ledger.streams set lease_until = now() - interval '1 ms'`);
  expect(await leaseStream(db, 'deposit', ledger.instance)).toBeDefined();
});

test('a pass that continues after its lease does not change what the scan of the next owner has met', async () => {
  const slow = connect();
  await leaseStream(slow.db, 'deposit', slow.instance);
  expect(await forgetKeys(slow.db, 'deposit', slow.instance)).toBe(true);
  await query(`update ledger.streams set lease_until = now() - interval '1 ms'`);
  await leaseStream(db, 'deposit', ledger.instance);
  await noteKeys(db, 'deposit', ['a', 'b']);
  expect(await forgetKeys(slow.db, 'deposit', slow.instance)).toBe(false);
  expect(await countNotedKeys(db, 'deposit')).toBe(2);
  expect(await forgetKeys(db, 'deposit', ledger.instance)).toBe(true);
  expect(await countNotedKeys(db, 'deposit')).toBe(0);
});

test('the result of a pass is recorded: an error stays until a success, and the last success stays', async () => {
  const end = async (error: string | null) => {
    await leaseStream(db, 'deposit', ledger.instance);
    await releaseStream(db, 'deposit', ledger.instance, error);
    const [noted] = await query<{ last_error: string; succeeded: boolean; failed: boolean }>(
      `select last_error, last_success_at is not null as succeeded, last_error_at is not null as failed
         from ledger.streams`,
    );
    return noted;
  };
  expect(await end('down')).toEqual({ last_error: 'down', succeeded: false, failed: true });
  expect(await end(null)).toEqual({ last_error: null, succeeded: true, failed: true });
  expect(await end('again')).toEqual({ last_error: 'again', succeeded: true, failed: true });
});

test('a restarted stream keeps its counts and loses its checkpoint', async () => {
  await leaseStream(db, 'deposit', ledger.instance);
  await save(row);
  await restartStreams(db, ['deposit']);
  expect(
    await query('select checkpoint, is_complete, page_size, ledger_count from ledger.streams'),
  ).toEqual([{ checkpoint: null, is_complete: false, page_size: 50, ledger_count: '0' }]);
});

test('a restart takes the stream from the pass that holds it, which can no longer undo the restart', async () => {
  const other = connect();
  await other.pool.query('select 1');
  await leaseStream(db, 'deposit', ledger.instance);
  await save(row);
  await restartStreams(other.db, ['deposit']);
  expect(await save(row)).toBeUndefined();
  expect(await leaseStream(other.db, 'deposit', other.instance)).toMatchObject({
    checkpoint: null,
    isBacked: false,
  });
});
