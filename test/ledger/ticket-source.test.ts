import { beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import type { Ticket, TicketSource } from '../../src/kernel/ticket.ts';
import {
  createTicketSource,
  shareTickets,
  type TicketPort,
} from '../../src/ledger/ticket-source.ts';
import { settleHome } from '../../src/sync/settle-home.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query } = await withLedger();
const other = connect();
beforeEach(async () => {
  await query(
    `update ledger.request_tickets set last_nonce = 0, next_slot_at = now(), slot_seconds = 0, paused_until = now() - interval '1 hour', asked_at = now()`,
  );
});

function sources(maxRps: number | null, nonceUnit: 'ms' | 'us' = 'ms') {
  return [ledger, other].map((each) => createTicketSource(each, { maxRps, nonceUnit }));
}

type Going = Ticket & { at: number };

/** A ticket of the first lane, which is never deferred. */
async function takeFirst(source: TicketSource | undefined, signal?: AbortSignal): Promise<Ticket> {
  const ticket = await source?.take('head', signal);
  if (!ticket || 'backInMs' in ticket) throw new Error('no ticket');
  return ticket;
}

/** `count` tickets of each source, requested at once, with the time at which each may be used. */
async function takeAll(of: ReturnType<typeof sources>, count: number): Promise<Going[]> {
  const taken = of.flatMap((source) =>
    Array.from({ length: count }, async () => ({
      ...(await takeFirst(source)),
      at: performance.now(),
    })),
  );
  return (await Promise.all(taken)).sort((a, b) => a.observation - b.observation);
}

const waitOf = async (maxRps: number) =>
  Number(
    (await query(`select wait_ms from ledger.take_tickets(1, ${maxRps}, 'ms')`))[0]?.['wait_ms'],
  );

test.each(['ms', 'us'] as const)(
  '[H16] two processes get unique tickets that rise in one order (%s)',
  async (unit) => {
    const pair = sources(null, unit);
    const tickets = [...(await takeAll(pair, 60)), ...(await takeAll(pair, 60))];
    for (const [index, ticket] of tickets.entries()) {
      const before = tickets[index - 1];
      if (!before) continue;
      expect(ticket.observation).toBeGreaterThan(before.observation);
      expect(BigInt(ticket.nonce)).toBeGreaterThan(BigInt(before.nonce));
    }
  },
);

test('nonces begin at the clock in their unit, and never go back when the unit becomes coarser', async () => {
  const take = async (unit: 'ms' | 'us') => Number((await takeFirst(sources(null, unit)[0])).nonce);
  const ms = await take('ms');
  expect(Math.abs(ms - Date.now())).toBeLessThan(5_000);
  const us = await take('us');
  expect(Math.abs(us / 1_000 - Date.now())).toBeLessThan(5_000);
  expect(await take('ms')).toBe(us + 1);
});

test('[H9 Q12] two processes together stay within the budget in every window', async () => {
  const maxRps = 50;
  const times = (await takeAll(sources(maxRps), 30)).map(({ at }) => at).sort((a, b) => a - b);
  for (const [index, from] of times.entries()) {
    for (const windowMs of [200, 500, 1_000]) {
      const within = times.slice(index).filter((at) => at < from + windowMs).length;
      // Six more: the first one, four that are used up to 90 ms late, and one for the difference of the clocks.
      expect(within).toBeLessThanOrEqual((maxRps * windowMs) / 1_000 + 6);
    }
  }
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(3_000);
});

test('unused budget is not saved up for a burst', async () => {
  await query(`update ledger.request_tickets set next_slot_at = now() - interval '1 hour'`);
  expect(await waitOf(50)).toBeGreaterThanOrEqual(-50);
  const times = (await takeAll(sources(50), 5)).map(({ at }) => at).sort((a, b) => a - b);
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(120);
});

test.each([50, null])('[H9] a pause stops both processes (budget %s)', async (maxRps) => {
  const [one, two] = sources(maxRps);
  const began = performance.now();
  await one?.pause(400);
  await Promise.all([takeFirst(one), takeFirst(two)]);
  expect(performance.now() - began).toBeGreaterThanOrEqual(395);
});

test('a shorter pause does not shorten a longer one', async () => {
  const [one, two] = sources(null);
  const began = performance.now();
  await one?.pause(400);
  await two?.pause(10);
  await takeFirst(two);
  expect(performance.now() - began).toBeGreaterThanOrEqual(395);
});

test('a ticket that was waiting when its process was paused is replaced by a later one', async () => {
  const [one] = sources(2);
  const first = await takeFirst(one);
  const waiting = takeFirst(one);
  const granted = async () =>
    (await query('select last_value::int as n from ledger.observations'))[0];
  await until(async () => (await granted())?.['n'] === (first?.observation ?? 0) + 1);
  const began = performance.now();
  await one?.pause(900);
  await waiting;
  expect(performance.now() - began).toBeGreaterThanOrEqual(895);
});

test('an aborted wait for a ticket ends with the reason of the signal', async () => {
  const [one] = sources(null);
  await one?.pause(60_000);
  const controller = new AbortController();
  const waiting = takeFirst(one, controller.signal);
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(takeFirst(one, controller.signal)).rejects.toBe(reason);
});

test('slow slots queued by a process that has ended delay a faster process by at most as many of its own slots', async () => {
  await query(`select ledger.take_tickets(8, 0.001, 'ms')`);
  expect(await waitOf(0.001)).toBeGreaterThan(8_000_000);
  const wait = await waitOf(10);
  expect(wait).toBeGreaterThan(800);
  expect(wait).toBeLessThan(1_000);
});

test.each([
  [10, 5_000],
  [100, 1_000],
  [0.5, 10_000],
])(
  'after a crash or a move the first request at %d per second waits for earlier requests that may still be sent',
  async (maxRps, holdMs) => {
    await query(`select ledger.take_tickets(20, ${maxRps}, 'ms')`);
    await query(`update ledger.request_tickets set next_slot_at = now() - interval '1 second'`);
    await query(`delete from engine.ticket_witness`);
    const wait = await waitOf(maxRps);
    expect(wait).toBeGreaterThan(holdMs - 500);
    expect(wait).toBeLessThanOrEqual(holdMs * 1.02);
    await query(`update ledger.request_tickets set next_slot_at = now() - interval '1 second'`);
    expect(await waitOf(maxRps)).toBeLessThan(100);
  },
);

test('slots and pauses move with a clock that goes back', async () => {
  await query(`select ledger.pause_requests(2000)`);
  await query(`update ledger.request_tickets
    set asked_at = asked_at + interval '1 hour', next_slot_at = next_slot_at + interval '1 hour', paused_until = paused_until + interval '1 hour'`);
  const wait = await waitOf(10);
  expect(wait).toBeGreaterThan(1_000);
  expect(wait).toBeLessThan(2_001);
  await query(`update ledger.request_tickets set asked_at = asked_at + interval '1 hour'`);
  await sources(null)[0]?.pause(1_000);
  expect(await waitOf(10)).toBeLessThan(2_200);
});

test('tickets are given although nobody can tell why they have to wait', async () => {
  const row = { observation: '1', nonce: '1', wait_ms: 1_100 };
  const port: TicketPort = {
    take: async () => [{ ...row, asked_ms: Date.now() }],
    pause: async () => undefined,
    pausedMs: () => Promise.reject(new Error('the connection is lost')),
    clock: async () => Date.now(),
    disturbHome: async () => undefined,
  };
  const ticket = await shareTickets(port, null, () => undefined).take('backlog');
  expect(ticket).toMatchObject({ observation: 1 });
});

test('a pause is named to each process that waits for it, and the pace of the budget is not', async () => {
  const named: number[] = [];
  const waiting = (maxRps: number | null) =>
    createTicketSource(other, { maxRps, nonceUnit: 'ms' }, (msLeft) => void named.push(msLeft));
  await query(`update ledger.request_tickets set next_slot_at = now() + interval '3 s'`);
  await takeFirst(waiting(100));
  expect(named).toEqual([]);
  await sources(null)[0]?.pause(3_000);
  await takeFirst(waiting(null));
  expect(named).toHaveLength(1);
  expect(named[0]).toBeGreaterThan(2_000);
  expect(named[0]).toBeLessThanOrEqual(3_000);
  await sources(null)[0]?.pause(2_000);
  await waiting(null).take('backlog');
  expect(named).toHaveLength(2);
}, 20_000);

test('a process that hung discards its late tickets instead of using them all at once', async () => {
  const maxRps = 50;
  const [source] = sources(maxRps);
  const times: number[] = [];
  const taking = Array.from({ length: 50 }, async () => {
    await takeFirst(source);
    times.push(performance.now());
  });
  await until(async () => times.length > 0);
  const resumeAt = performance.now() + 700;
  while (performance.now() < resumeAt);
  await Promise.all(taking);
  // Ten are due in 200 ms, and a few more are late within the tolerance. All that were due meanwhile would be 35.
  for (const from of times)
    expect(times.filter((at) => at >= from && at < from + 200).length).toBeLessThanOrEqual(20);
});

test('after the clock of the database was set back, a ticket source measures the difference again', async () => {
  const [source] = sources(100);
  await takeFirst(source);
  await query(`alter function ledger.take_tickets rename to take_tickets_now`);
  try {
    await query(`create function ledger.take_tickets(n integer, max_rps double precision, nonce_unit text, lane integer)
      returns table (observation bigint, nonce bigint, wait_ms double precision, asked_ms double precision) language sql
      as $$ select observation, nonce, wait_ms, asked_ms - 3600000 from ledger.take_tickets_now(n, max_rps, nonce_unit, lane) $$`);
    await Promise.all(Array.from({ length: 10 }, () => takeFirst(source)));
  } finally {
    await query(
      `drop function ledger.take_tickets; alter function ledger.take_tickets_now rename to take_tickets`,
    );
  }
});

test('a process whose first ticket arrives late does not take the delay for a difference of the clocks', async () => {
  await query(`create sequence ledger.trips`);
  await query(`alter function ledger.take_tickets rename to take_tickets_now`);
  try {
    // The slot begins at the database's time. The ticket arrives 300 ms later, as for a process that hung.
    await query(`create function ledger.take_tickets(n integer, max_rps double precision, nonce_unit text, lane integer)
      returns table (observation bigint, nonce bigint, wait_ms double precision, asked_ms double precision) language plpgsql
      as $$ begin
        return query select * from ledger.take_tickets_now(n, max_rps, nonce_unit, lane);
        if nextval('ledger.trips') = 1 then perform pg_sleep(0.3); end if;
      end $$`);
    const [source] = sources(20);
    const first = await takeFirst(source);
    const [trips] = await query(`select last_value::int as of from ledger.trips`);
    expect(trips).toEqual({ of: 2 });
    const second = await takeFirst(source);
    expect(second.observation - first.observation).toBe(1);
  } finally {
    await query(`drop function ledger.take_tickets; drop sequence ledger.trips;
      alter function ledger.take_tickets_now rename to take_tickets`);
  }
});

test('tickets are used also if every round trip takes longer than a ticket may be late', async () => {
  await query(`alter function ledger.take_tickets rename to take_tickets_now`);
  try {
    await query(`create function ledger.take_tickets(n integer, max_rps double precision, nonce_unit text, lane integer)
      returns table (observation bigint, nonce bigint, wait_ms double precision, asked_ms double precision) language plpgsql
      as $$ begin
        return query select * from ledger.take_tickets_now(n, max_rps, nonce_unit, lane);
        perform pg_sleep(0.15);
      end $$`);
    const [source] = sources(20);
    for (let nth = 0; nth < 3; nth += 1) await takeFirst(source);
  } finally {
    await query(`drop function ledger.take_tickets;
      alter function ledger.take_tickets_now rename to take_tickets`);
  }
});

test('numbers that go back show that the database files were restored', async () => {
  const [source] = sources(null);
  const before = await takeFirst(source);
  await query(`select setval('ledger.observations', ${(before?.observation ?? 0) - 1})`);
  await takeFirst(source);
  expect(await query(`select engine.home_state() as away`)).toEqual([
    { away: 'the numbers of its requests decreased' },
  ]);
});

test('numbers that went back in a healed move are no second move, and later ones are detected', async () => {
  const [source, second] = sources(null);
  const back = async (from: Ticket) =>
    await query(`select setval('ledger.observations', ${from.observation - 1})`);
  const epochs = async () =>
    await query(`select epoch, engine.home_state() as away from engine.home`);
  const heal = () => settleHome({ ledger, log: silentLog, settings: { onMove: 'heal' } });
  await heal();
  await query(`select setval('ledger.observations', nextval('ledger.observations') + 1000)`);
  const highest = [await takeFirst(source), await takeFirst(second)];
  // Imitates an in-place restore: the catalogue shows it first.
  await query(`select engine.disturb_home('its tables were created again')`);
  await heal();
  const healed = await epochs();
  await back(highest[0] as Ticket);
  const low = [await takeFirst(source), await takeFirst(second)];
  expect(low[0]?.observation).toBeLessThanOrEqual(highest[0]?.observation ?? 0);
  expect(await epochs()).toEqual(healed);
  expect(healed).toMatchObject([{ away: null }]);
  await takeFirst(source);
  await back(low[0] as Ticket);
  await takeFirst(source);
  expect(await epochs()).toMatchObject([{ away: 'the numbers of its requests decreased' }]);
});
