import { beforeEach, expect, test } from 'vitest';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { createTicketSource } from '../../src/ledger/ticket-source.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query } = await withLedger();
const other = connect();

beforeEach(async () => {
  await query(`delete from ledger.request_tickets; delete from engine.ticket_witness`);
});

type Row = { observation: string; nonce: string; wait_ms: number };

const take = async (of: Ledger, count = 1, maxRps: number | null = null) =>
  (await of.pool.query<Row>(`select * from ledger.take_tickets(${count}, ${maxRps}, 'ms')`)).rows;

const both = [ledger.forWallet('main'), ledger.forWallet('w2')] as const;

test('concurrent first requests of a wallet create its row once', async () => {
  const asked = Array.from({ length: 12 }, (_, nth) =>
    take((nth % 2 === 0 ? ledger : other).forWallet('w3'), 5),
  );
  const rows = (await Promise.all(asked)).flat();
  expect(new Set(rows.map(({ nonce }) => nonce)).size).toBe(60);
  expect(new Set(rows.map(({ observation }) => observation)).size).toBe(60);
  expect(await query('select wallet, id from ledger.request_tickets')).toEqual([
    { wallet: 'w3', id: 1 },
  ]);
  expect(await query('select wallet from engine.ticket_witness')).toEqual([{ wallet: 'w3' }]);
});

test('the first request of a wallet with a budget does not wait as after a crash', async () => {
  const [row] = await take(both[1], 1, 1);
  expect(row?.wait_ms).toBeLessThan(100);
});

test('each wallet has its own budget, nonce and pause; observations are one sequence', async () => {
  for (const each of both) await take(each);
  await take(both[0], 20, 1);
  const [slow] = await take(both[0], 1, 1);
  expect(slow?.wait_ms).toBeGreaterThan(15_000);
  expect((await take(both[1], 1, 1))[0]?.wait_ms).toBeLessThan(100);
  await createTicketSource(both[1], { maxRps: null, nonceUnit: 'ms' }).pause(60_000);
  expect((await take(both[1]))[0]?.wait_ms).toBeGreaterThan(50_000);
  const wait = (await take(both[0]))[0]?.wait_ms ?? 0;
  expect(wait).toBeLessThan(25_000);
  const mixed = await Promise.all(
    Array.from({ length: 20 }, (_, nth) => take(both[nth % 2] ?? ledger)),
  );
  expect(new Set(mixed.flat().map(({ observation }) => observation)).size).toBe(20);
});

test('a wallet whose row is locked does not delay another wallet', async () => {
  for (const each of both) await take(each);
  const holder = await both[0].pool.connect();
  try {
    await holder.query('begin');
    await holder.query(`select * from ledger.take_tickets(1, null, 'ms')`);
    expect(await take(both[1])).toHaveLength(1);
    let isThrough = false;
    const waiting = take(other).then(() => {
      isThrough = true;
    });
    await until(
      async () =>
        (
          await query(`select from pg_stat_activity where wait_event_type = 'Lock'
                         and query like '%take_tickets%'`)
        ).length > 0,
    );
    expect(isThrough).toBe(false);
    await holder.query('commit');
    await waiting;
  } finally {
    holder.release();
  }
});

test('after a crash the nonce of each wallet jumps ahead, and no observation is used twice', async () => {
  const before = (await Promise.all(both.map((each) => take(each, 3)))).flat();
  const highest = Math.max(...before.map(({ observation }) => Number(observation)));
  // Imitates the state after a crash: the unlogged table is empty, and the last numbers are lost.
  await query(`delete from engine.ticket_witness; select setval('ledger.observations', ${highest - 4});
    update ledger.request_tickets set last_nonce = last_nonce - 3`);
  const after = await Promise.all([...both, ...both].map((each) => take(each, 3)));
  const given = after.flat().map(({ observation }) => Number(observation));
  expect(new Set(given).size).toBe(12);
  expect(Math.min(...given)).toBeGreaterThan(highest);
  for (const nth of [0, 1]) {
    const nonces = [...(after[nth] ?? []), ...(after[nth + 2] ?? [])].map(({ nonce }) =>
      Number(nonce),
    );
    expect(new Set(nonces).size).toBe(6);
    expect(Math.min(...nonces)).toBeGreaterThan(
      Math.max(...before.map(({ nonce }) => Number(nonce))),
    );
    expect(Math.min(...nonces)).toBeGreaterThan(Date.now() + 5_000);
  }
});

test('a wallet that notices the crash later uses no number that another wallet has used since', async () => {
  for (const each of both) await take(each);
  await query(`delete from engine.ticket_witness`);
  const seen = (await take(both[0], 5)).map(({ observation }) => Number(observation));
  for (let round = 0; round < 3; round += 1) {
    const of = both[1 - (round % 2)] ?? ledger;
    const now = (await take(of, 5)).map(({ observation }) => Number(observation));
    expect(Math.min(...now)).toBeGreaterThan(Math.max(...seen));
    seen.push(...now);
  }
});
