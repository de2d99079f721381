import pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { mirrorPools, takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { grantIssuer } from '../../src/ledger/connection/grant-roles.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear, connectionString } = await withLedger();
const issuer = `issuer_${process.pid}_${Date.now()}`;
await query(`create role ${issuer} login password 'issuer'`);
await grantIssuer(ledger, issuer);
afterAll(() => query(`drop owned by ${issuer}; drop role ${issuer}`));

beforeEach(clear);
beforeEach(() => query('delete from engine.null_takes'));

/** A session that logs in as the issuer, in a transaction. */
async function beginAsIssuer(): Promise<pg.Client> {
  const url = new URL(connectionString);
  url.username = issuer;
  url.password = 'issuer';
  const client = new pg.Client({ connectionString: url.toString() });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('begin');
  return client;
}

async function fillPool(addresses: number, target: number): Promise<void> {
  await mirrorPools(ledger, [{ slip44: 60, threshold: 5, target }]);
  await query(`
    insert into ledger.addresses (slip44, address, status, form, generated_by, first_seen_at)
    select 60, '0x' || lpad(n::text, 40, '0'), 'available', 'plain', 1, now() from generate_series(1, ${addresses}) n`);
}

const take = 'select ledger.take_address(60, null)';
const withheld = () =>
  query(`select severity, what from ledger.problems where name = 'pool_withheld'`);
const takes = () => query('select from engine.null_takes');

test('an issuer holds half of a pool in one transaction at the most, and none of it after the refusal', async () => {
  await fillPool(200, 200);
  const client = await beginAsIssuer();
  try {
    for (let taken = 0; taken < 100; taken += 1) await client.query(take);
    await expect(client.query(take)).rejects.toMatchObject({ code: '54000' });
    await client.query('rollback');
    for (let taken = 0; taken < 101; taken += 1) await client.query(take);
  } finally {
    await client.end();
  }
  expect(
    await query(`select count(*)::int as n from ledger.addresses where status = 'assigned'`),
  ).toEqual([{ n: 101 }]);
  // Whoever may write the addresses anyway is not bounded.
  await query(`select ledger.take_address(60, 'customer ' || n) from generate_series(1, 99) n`);
});

test('a pool that an open transaction withholds is a problem as soon as others have got nothing for ten seconds', async () => {
  await fillPool(10, 10);
  const client = await beginAsIssuer();
  try {
    for (let taken = 0; taken < 10; taken += 1) await client.query(take);
    expect(await takeAddress(ledger.db, 60, 'anna')).toBeNull();
    expect([await takes(), await withheld()]).toEqual([[{}], []]);
    await query(`update engine.null_takes set taken_at = taken_at - interval '11 seconds'`);
    expect(await takeAddress(ledger.db, 60, 'anna')).toBeNull();
    const { rows: own } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const said = new RegExp(
      `an open transaction holds them: process ${own[0]?.pid}, role ${issuer}`,
    );
    expect(await withheld()).toMatchObject([
      { severity: 'critical', what: expect.stringMatching(said) },
    ]);
  } finally {
    await client.end();
  }
  expect(await withheld()).toMatchObject([
    { what: expect.stringContaining('the transaction that held them has ended') },
  ]);
  // The next one who asks gets an address, and all is well.
  expect(await takeAddress(ledger.db, 60, 'anna')).not.toBeNull();
  expect(await withheld()).toEqual([]);
});

test('an empty pool withholds nothing', async () => {
  await fillPool(0, 10);
  expect(await takeAddress(ledger.db, 60, 'anna')).toBeNull();
  expect(await takes()).toEqual([]);
});

test('who asks in vain again and again leaves one row every five seconds, and the old ones go', async () => {
  await fillPool(2, 10);
  await query(
    `insert into engine.null_takes select 60, now() - interval '2 hours' from generate_series(1, 500)`,
  );
  const client = await beginAsIssuer();
  try {
    for (let taken = 0; taken < 2; taken += 1) await client.query(take);
    await Promise.all(Array.from({ length: 4 }, (_, n) => takeAddress(ledger.db, 60, `b${n}`)));
    await Promise.all(Array.from({ length: 4 }, (_, n) => takeAddress(ledger.db, 60, `c${n}`)));
  } finally {
    await client.end();
  }
  expect((await takes()).length).toBeLessThanOrEqual(4);
});
