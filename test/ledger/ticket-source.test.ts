import { beforeEach, expect, test } from 'vitest';
import type { Ticket } from '../../src/kernel/ticket.ts';
import { createTicketSource } from '../../src/ledger/ticket-source.ts';
import { until } from '../support/until.ts';
import { withLedger } from './with-ledger.ts';

const { ledger, connect, query } = await withLedger();
const other = connect();
beforeEach(async () => {
  await query('update ledger.request_tickets set last_nonce = 0, next_slot_at = now()');
});

function sources(maxRps: number | null, nonceUnit: 'ms' | 'us' = 'ms') {
  return [ledger, other].map((each) => createTicketSource(each, { maxRps, nonceUnit }));
}

type Going = Ticket & { at: number };

/** `count` tickets of each source, asked for at once, with the moment at which each may go. */
async function takeAll(of: ReturnType<typeof sources>, count: number): Promise<Going[]> {
  const taken = of.flatMap((source) =>
    Array.from({ length: count }, async () => ({
      ...(await source.take()),
      at: performance.now(),
    })),
  );
  return (await Promise.all(taken)).sort((a, b) => a.observation - b.observation);
}

test.each(['ms', 'us'] as const)(
  '[H16] two processes get tickets that are unique and rise in one order (%s)',
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
  const take = async (unit: 'ms' | 'us') => Number((await sources(null, unit)[0]?.take())?.nonce);
  const ms = await take('ms');
  expect(Math.abs(ms - Date.now())).toBeLessThan(5_000);
  const us = await take('us');
  expect(Math.abs(us / 1_000 - Date.now())).toBeLessThan(5_000);
  expect(await take('ms')).toBe(us + 1);
});

test('[H9 Q12] two processes together keep to the budget in every window', async () => {
  const maxRps = 50;
  const times = (await takeAll(sources(maxRps), 30)).map(({ at }) => at).sort((a, b) => a - b);
  for (const [index, from] of times.entries()) {
    for (const windowMs of [200, 500, 1_000]) {
      const within = times.slice(index).filter((at) => at < from + windowMs).length;
      // Four more: the first one, two slots given out late, and one that a busy machine let go late.
      expect(within).toBeLessThanOrEqual((maxRps * windowMs) / 1_000 + 4);
    }
  }
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(3_000);
});

test('an idle time is not saved up for a burst', async () => {
  await query(`update ledger.request_tickets set next_slot_at = now() - interval '1 hour'`);
  const times = (await takeAll(sources(50), 5)).map(({ at }) => at).sort((a, b) => a - b);
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(120);
});

test.each([50, null])('[H9] a pause holds back both processes (budget %s)', async (maxRps) => {
  const [one, two] = sources(maxRps);
  const began = performance.now();
  await one?.pause(400);
  await Promise.all([one?.take(), two?.take()]);
  expect(performance.now() - began).toBeGreaterThanOrEqual(395);
});

test('a shorter pause does not cut a longer one short', async () => {
  const [one, two] = sources(null);
  const began = performance.now();
  await one?.pause(400);
  await two?.pause(10);
  await two?.take();
  expect(performance.now() - began).toBeGreaterThanOrEqual(395);
});

test('a ticket that was waiting when its process was paused is given up for a later one', async () => {
  const [one] = sources(2);
  const first = await one?.take();
  const waiting = one?.take();
  const granted = async () =>
    (await query('select last_value::int as n from ledger.observations'))[0];
  await until(async () => (await granted())?.['n'] === (first?.observation ?? 0) + 1);
  const began = performance.now();
  await one?.pause(900);
  await waiting;
  expect(performance.now() - began).toBeGreaterThanOrEqual(895);
});

test('who waits for a ticket leaves with the signal’s reason', async () => {
  const [one] = sources(null);
  await one?.pause(60_000);
  const controller = new AbortController();
  const waiting = one?.take(controller.signal);
  const reason = new Error('enough');
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(one?.take(controller.signal)).rejects.toBe(reason);
});
