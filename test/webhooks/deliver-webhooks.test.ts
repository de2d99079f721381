import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import type { LedgerDb } from '../../src/ledger/connection/connect-ledger.ts';
import { pruneEvents } from '../../src/ledger/feed/event-store.ts';
import {
  addReceivers,
  readDueDeliveries,
  replayEvents,
  resumeReceiver,
} from '../../src/ledger/feed/webhook-store.ts';
import { deliverWebhooks, type WebhookOptions } from '../../src/webhooks/deliver-webhooks.ts';
import type { Receiver } from '../../src/webhooks/send-webhook.ts';
import { beginTransaction, untilBlocked } from '../support/begin-transaction.ts';
import { daysFromNow, makeCertificate } from '../support/certificates.ts';
import { until } from '../support/until.ts';
import { newSecret, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { withLedger } from '../support/with-ledger.ts';

const testLedger = await withLedger();
const { ledger, query } = testLedger;

beforeEach(() =>
  query('truncate ledger.events, engine.webhooks, engine.deliveries, engine.consumers'),
);

const settingOf = (receiver: WebhookReceiver, changes: Partial<Receiver> = {}): Receiver => ({
  name: 'shop',
  url: receiver.url,
  secrets: [receiver.secret],
  isPrivateAllowed: false,
  ...changes,
});

/** A stopped worker may still run its last statement, and the next test's truncation could deadlock with it. */
const isDatabaseQuiet = async () =>
  (
    await query(`
      select from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend'
         and pid <> pg_backend_pid() and state <> 'idle'`)
  ).length === 0;

/** Delivers to the receivers until the test ends, with a queue that runs each job at once. */
async function deliver(receivers: Receiver[], options: Partial<WebhookOptions> = {}) {
  const running = new Map<string, Promise<void>>();
  const closing = new AbortController();
  const webhooks = await deliverWebhooks({
    ledger,
    receivers,
    log: silentLog,
    onAttempt: () => undefined,
    async addJob(name, id, data) {
      const job = webhooks.jobs.find((each) => each.name === name);
      if (job === undefined || running.has(id)) return;
      const ended = job
        .run(data, closing.signal)
        .catch(() => undefined)
        .finally(() => running.delete(id));
      running.set(id, ended);
    },
    ...options,
  });
  const stop = webhooks.start();
  const close = async () => {
    stop();
    closing.abort();
    await Promise.all(running.values());
    await until(isDatabaseQuiet);
  };
  onTestFinished(close);
  return { wake: webhooks.wake, close };
}

let last = 0;
beforeEach(() => {
  last = 0;
});

/** Records one event for each key, in this order. */
async function record(...keys: string[]): Promise<void> {
  for (const key of keys) {
    last += 1;
    await query(
      `insert into ledger.events values (${last}, now(), 'test', '${key}', '{"amount": "1.50"}')`,
    );
  }
}

const isDone = (receiver: WebhookReceiver, count: number) =>
  until(async () => receiver.accepted.length >= count);
const numbers = (deliveries: { seq: number }[]) => deliveries.map(({ seq }) => seq);
const consumer = async (name = 'shop') => {
  const [row] = await query(
    `select state, position::int, behind::int, last_error from ledger.feed_consumers where name = '${name}'`,
  );
  return row;
};
/** Backdates all failures. */
const pass = (interval: string) =>
  query(
    `update engine.deliveries set due_at = now(), failed_since = failed_since - interval '${interval}'`,
  );
const problems = async () =>
  (await query(`select name from ledger.problems where name like 'feed%' order by name`)).map(
    ({ name }) => name,
  );

test('each event is sent as in the feed, signed with each secret, and with its number', async () => {
  const [before, after] = [newSecret(), newSecret()];
  const [old, renewed] = [await startReceiver(before), await startReceiver(after)];
  const secrets = [before, after];
  const { wake } = await deliver([
    settingOf(old, { secrets }),
    settingOf(renewed, { name: 'crm', secrets }),
  ]);
  await record('a', 'b', 'a');
  wake();
  for (const receiver of [old, renewed]) {
    await isDone(receiver, 3);
    expect(numbers(receiver.accepted).sort((a, b) => a - b)).toEqual([1, 2, 3]);
    const [first] = receiver.accepted;
    expect(first?.headers).toMatchObject({
      'webhook-id': String(first?.seq),
      'content-type': 'application/json',
    });
    expect(JSON.parse(first?.body ?? '')).toEqual({
      seq: first?.seq,
      recorded_at: expect.stringMatching(/^\d{4}-.*Z$/),
      wallet: 'main',
      kind: 'test',
      key: first?.key,
      data: { amount: '1.50' },
    });
  }
  await until(async () => (await consumer())?.['behind'] === 0);
  expect(await consumer()).toMatchObject({ state: 'reading', position: 3 });
});

test('a later event of a key waits for the earlier one, and events of other keys are sent', async () => {
  const receiver = await startReceiver();
  receiver.behaviour = ({ seq }) => (seq === 1 ? 500 : 204);
  const { wake } = await deliver([settingOf(receiver)]);
  await record('a', 'b', 'a', 'c', 'a', 'b');
  wake();
  await isDone(receiver, 3);
  await until(async () => (await consumer())?.['state'] === 'failing');
  expect(await consumer()).toMatchObject({ position: 0, behind: 3, last_error: 'it answered 500' });
  expect(numbers(receiver.accepted).sort((a, b) => a - b)).toEqual([2, 4, 6]);
  receiver.behaviour = () => 204;
  await pass('0 s');
  wake();
  await isDone(receiver, 6);
  expect(numbers(receiver.accepted.filter(({ key }) => key === 'a'))).toEqual([1, 3, 5]);
  expect(receiver.mostAtOnce()).toBe(1);
});

test('two daemons send each event once, and never two events of a key at the same time', async () => {
  const receiver = await startReceiver();
  const daemons = [await deliver([settingOf(receiver)]), await deliver([settingOf(receiver)])];
  await record(...Array.from({ length: 60 }, (_, index) => `key ${index % 7}`));
  for (const { wake } of daemons) wake();
  await isDone(receiver, 60);
  expect(numbers(receiver.attempts).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 60 }, (_, index) => index + 1),
  );
  expect(receiver.mostAtOnce()).toBe(1);
});

test('the position advances with the answer, and an event that a dead daemon was sending is sent again', async () => {
  const receiver = await startReceiver();
  let answer = (_status: number): void => undefined;
  receiver.behaviour = () => new Promise<number>((resolve) => (answer = resolve));
  const first = await deliver([settingOf(receiver)]);
  await record('a');
  first.wake();
  await until(async () => receiver.attempts.length === 1);
  expect(await consumer()).toMatchObject({ position: 0, behind: 1 });
  const isClosed = first.close();
  receiver.behaviour = () => 204;
  const second = await deliver([settingOf(receiver)]);
  await query(`update engine.deliveries set claimed_until = now()`);
  second.wake();
  await isDone(receiver, 1);
  await until(async () => (await consumer())?.['position'] === 1);
  answer(500);
  await isClosed;
  expect(await consumer()).toMatchObject({ position: 1, behind: 0, state: 'reading' });
});

test('an event whose claim is too old before it can be sent is left to the next claim', async () => {
  const receiver = await startReceiver();
  const { jobs } = await deliverWebhooks({
    ledger,
    receivers: [settingOf(receiver)],
    log: silentLog,
    onAttempt: () => undefined,
    addJob: async () => undefined,
  });
  await record('a');
  await readDueDeliveries(ledger.db, 'shop', { max: 1, isProbe: false });
  const holding = await beginTransaction(ledger, (db) =>
    db.execute(sql`select from engine.webhooks for update`),
  );
  const sending = jobs[0]?.run({ receiver: 'shop', seq: 1 }, new AbortController().signal);
  await untilBlocked(testLedger);
  const now = performance.now.bind(performance);
  const late = vi.spyOn(performance, 'now').mockImplementation(() => now() + 20_000);
  onTestFinished(() => late.mockRestore());
  await holding.commit();
  await sending;
  expect(receiver.attempts).toEqual([]);
  expect(await query('select attempts from engine.deliveries')).toEqual([{ attempts: 1 }]);
});

test('a daemon that stops waits for the answers to what it has sent, so that nothing is sent twice', async () => {
  const receiver = await startReceiver();
  let answer = (_status: number): void => undefined;
  receiver.behaviour = () => new Promise<number>((resolve) => (answer = resolve));
  const stopping = await deliver([settingOf(receiver)]);
  await record('a');
  stopping.wake();
  await until(async () => receiver.attempts.length === 1);
  const isClosed = stopping.close();
  setTimeout(() => answer(204), 300);
  await isClosed;
  expect(receiver.accepted).toHaveLength(1);
  expect(await consumer()).toMatchObject({ position: 1, behind: 0, state: 'reading' });
});

test('[S19] a redirect is not followed, and counts as a refusal', async () => {
  const [receiver, target] = [await startReceiver(), await startReceiver()];
  receiver.behaviour = (_delivery, response) => {
    response.writeHead(307, { location: target.url }).end();
    return null;
  };
  const { wake } = await deliver([settingOf(receiver)]);
  await record('a');
  wake();
  await until(async () => (await consumer())?.['last_error'] === 'it answered 307');
  expect(target.attempts).toEqual([]);
});

test('[S4 S19] a receiver whose certificate is not trusted receives nothing', async () => {
  const dates = { from: daysFromNow(-1), to: daysFromNow(1) };
  const certificate = makeCertificate({ issuer: null, name: 'me', host: '127.0.0.1', ...dates });
  const receiver = await startReceiver(newSecret(), certificate);
  const { wake } = await deliver([settingOf(receiver)]);
  await record('a');
  wake();
  await until(async () => String((await consumer())?.['last_error']).includes('SELF_SIGNED'));
  expect(receiver.attempts).toEqual([]);
});

test('[Q18] only the status of an endless answer is read', async () => {
  const receiver = await startReceiver();
  const bytesMax = 64 * 1_048_576;
  let written = 0;
  const ended = new Promise<void>((resolve) => {
    receiver.behaviour = (_delivery, response) => {
      response.writeHead(200);
      const write = () => {
        written += 65_536;
        if (response.destroyed || written > bytesMax) resolve();
        else response.write(Buffer.alloc(65_536), () => setImmediate(write));
      };
      write();
      return null;
    };
  });
  const { wake } = await deliver([settingOf(receiver)]);
  await record('a');
  wake();
  await ended;
  expect(written).toBeLessThan(bytesMax);
  await until(async () => (await consumer())?.['position'] === 1);
});

test('[Q18] status 410 stops a receiver at once, with a problem; once resumed it gets every event since', async () => {
  const receiver = await startReceiver();
  receiver.behaviour = () => 410;
  const { wake } = await deliver([settingOf(receiver)]);
  await record('a', 'a');
  wake();
  await until(async () => (await consumer())?.['state'] === 'stopped', 60_000);
  expect(await problems()).toEqual(['feed_webhook_stopped']);
  await record('b');
  await pass('0 s');
  wake();
  receiver.behaviour = () => 204;
  expect(receiver.attempts.length).toBe(1);
  await resumeReceiver(ledger.db, 'shop');
  wake();
  await isDone(receiver, 3);
  expect(receiver.attempts.length).toBe(4);
  expect(await problems()).toEqual([]);
});

test('[Q18] a receiver that still fails after it was resumed is a problem since its first failure, until it accepts an event', async () => {
  const receiver = await startReceiver();
  receiver.behaviour = () => 500;
  const { wake } = await deliver([settingOf(receiver)]);
  await record('a');
  wake();
  const hasFailed = async () => (await consumer())?.['state'] === 'failing';
  await until(hasFailed);
  expect(await problems()).toEqual([]);
  await resumeReceiver(ledger.db, 'shop');
  expect(await problems()).toEqual([]);
  wake();
  await until(hasFailed);
  expect(await problems()).toEqual(['feed_webhook_failing']);
  receiver.behaviour = () => 204;
  await query('update engine.deliveries set due_at = now()');
  wake();
  await isDone(receiver, 1);
  expect(await problems()).toEqual([]);
  receiver.behaviour = () => 500;
  await record('b');
  wake();
  await until(hasFailed);
  expect(await problems()).toEqual([]);
});

test('[Q18] a receiver that was down for a day gets all events in order once it is up again, and another receiver is not affected', async () => {
  const [down, other] = [await startReceiver(), await startReceiver()];
  await down.stop();
  const { wake } = await deliver([settingOf(down), settingOf(other, { name: 'crm' })]);
  const keys = Array.from({ length: 30 }, (_, index) => `key ${index % 5}`);
  await record(...keys, 'probe');
  wake();
  await isDone(other, 31);
  await until(
    async () =>
      (await query(`select from engine.deliveries where failed_since is not null`)).length === 6,
  );
  await query(
    `update engine.deliveries set failed_since = failed_since - interval '1 day', due_at = now() + interval '1 hour' where failed_since is not null`,
  );
  await query(`update engine.webhooks set moved_at = moved_at - interval '1 day 1 minute'`);
  expect(await problems()).toEqual(['feed_webhook_failing']);
  const [retried] = await query(`
    select engine.end_delivery('shop', d.seq, d.attempts, 'it answered 500', false), d.seq
      from engine.deliveries d where d.receiver = 'shop' and d.failed_since is not null order by d.seq limit 1`);
  const [pause] = await query(
    `select round(extract(epoch from due_at - now()) / 60)::int as minutes from engine.deliveries where receiver = 'shop' and seq = ${retried?.['seq']}`,
  );
  expect(pause?.['minutes']).toBe(60);
  await down.restart();
  // One attempt is due; its success makes all the others due.
  await query(`update engine.deliveries set due_at = now() where receiver = 'shop' and seq = 31`);
  wake();
  await isDone(down, 31);
  for (const key of new Set(keys)) {
    const own = numbers(down.accepted.filter((each) => each.key === key));
    expect(own).toEqual(own.toSorted((a, b) => a - b));
  }
  expect(other.attempts.length).toBe(31);
});

test('[Q18] a receiver that accepts nothing gets no requests for a while, and gets everything soon after it is up', async () => {
  const receiver = await startReceiver();
  receiver.behaviour = () => 500;
  const { wake } = await deliver([settingOf(receiver)]);
  const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`);
  await record(...keys);
  wake();
  await until(async () => receiver.attempts.length >= 8);
  await delay(1_500);
  expect(receiver.attempts.length).toBeLessThan(50);
  receiver.behaviour = ({ seq }) => (seq <= 20 ? 500 : 204);
  await isDone(receiver, 80);
  receiver.behaviour = () => 204;
  await query('update engine.deliveries set due_at = now()');
  wake();
  await isDone(receiver, 100);
});

test('[Q18] after 7 days a failing receiver is stopped, and a problem remains', async () => {
  const receiver = await startReceiver();
  receiver.behaviour = () => 500;
  const { wake } = await deliver([settingOf(receiver)]);
  await record('a');
  wake();
  await until(async () => (await consumer())?.['state'] === 'failing');
  await pass('6 days 23 hours');
  wake();
  await until(async () => receiver.attempts.length === 2);
  await until(
    async () =>
      (await query(`select from engine.deliveries where claimed_until is null`)).length === 1,
  );
  expect(await consumer()).toMatchObject({ state: 'failing' });
  await pass('1 hour');
  wake();
  await until(async () => (await consumer())?.['state'] === 'stopped');
  expect(await consumer()).toMatchObject({
    last_error: 'event 1 has been refused for 7 days: it answered 500',
  });
  expect(await problems()).toEqual(['feed_webhook_stopped']);
});

test('[S19] a host name that resolves to a private network is refused, unless its setting allows that', async () => {
  const receiver = await startReceiver();
  const url = receiver.url.replace('127.0.0.1', 'hooks.example.com');
  let asked = 0;
  const resolve = async () => {
    asked += 1;
    // A second query gets another address, as from a rebinding name server.
    return [{ address: asked % 2 === 1 ? '127.0.0.1' : '203.0.113.9', family: 4 }];
  };
  const refused = await deliver([settingOf(receiver, { url })], { resolve });
  await record('a');
  refused.wake();
  await until(async () => (await consumer())?.['state'] === 'failing');
  expect(await consumer()).toMatchObject({
    last_error: 'its name leads to an address of a private network',
  });
  expect(receiver.attempts).toEqual([]);
  await refused.close();
  expect(asked).toBe(1);
  asked = 0;
  await pass('0 s');
  const allowed = await deliver([settingOf(receiver, { url, isPrivateAllowed: true })], {
    resolve,
  });
  allowed.wake();
  await isDone(receiver, 1);
  expect(asked).toBe(1);
});

test('events are kept for a receiver that has not received them, and a loss of events is reported', async () => {
  const receiver = await startReceiver();
  receiver.behaviour = ({ key }) => (key === 'a' ? 500 : 204);
  const daemon = await deliver([settingOf(receiver)]);
  await record('a', 'b', 'c');
  daemon.wake();
  await isDone(receiver, 2);
  await until(async () => {
    const { state, behind } = (await consumer()) ?? {};
    return state === 'failing' && behind === 1;
  });
  await daemon.close();
  await query(`update ledger.events set recorded_at = now() - interval '29 days'`);
  await pruneEvents(ledger.db);
  expect(await query('select from ledger.events')).toHaveLength(3);
  expect(await problems()).toContain('feed_consumer_stalled');
  await query(`update ledger.events set recorded_at = now() - interval '31 days'`);
  await pruneEvents(ledger.db);
  // A daemon was sending it when it died.
  await query(`update engine.deliveries set claimed_until = now() + interval '1 hour'`);
  await record('d');
  expect(await problems()).toContain('feed_events_lost');
  const second = await deliver([settingOf(receiver)]);
  await pass('0 s');
  second.wake();
  await until(async () => receiver.accepted.some(({ key }) => key === 'd'));
  await until(async () => (await consumer())?.['behind'] === 1);
  expect(await consumer()).toMatchObject({ state: 'lost' });
  await replayEvents(ledger, 'shop', 3);
  second.wake();
  await until(async () => (await consumer())?.['state'] === 'reading');
  expect(await problems()).toEqual([]);
});

test('a replay sends all events from one of them on again, in order, also while one is being sent', async () => {
  const receiver = await startReceiver();
  const { wake } = await deliver([settingOf(receiver)]);
  await record('a', 'a', 'a', 'a');
  wake();
  await isDone(receiver, 4);
  let answer = (_status: number): void => undefined;
  receiver.behaviour = () => new Promise<number>((resolve) => (answer = resolve));
  await record('a');
  wake();
  await until(async () => receiver.attempts.length === 5);
  await replayEvents(ledger, 'shop', 3);
  wake();
  answer(204);
  await until(async () => receiver.accepted.length === 5);
  receiver.behaviour = () => 204;
  await query(`update engine.deliveries set claimed_until = now()`);
  wake();
  await isDone(receiver, 8);
  expect(numbers(receiver.accepted)).toEqual([1, 2, 3, 4, 5, 3, 4, 5]);
  expect(receiver.mostAtOnce()).toBe(1);
});

test('a replay from a later event skips no event that the receiver has not accepted or that was not sent', async () => {
  const receiver = await startReceiver();
  receiver.behaviour = ({ key }) => (key === 'a' ? 503 : 204);
  const daemon = await deliver([settingOf(receiver)]);
  await record('a', 'b', 'c', 'd');
  daemon.wake();
  await isDone(receiver, 3);
  await until(async () => (await consumer())?.['behind'] === 1);
  await daemon.close();
  await record('e', 'f');
  await replayEvents(ledger, 'shop', 3);
  await replayEvents(ledger, 'shop', 6);
  receiver.behaviour = () => 204;
  const { wake } = await deliver([settingOf(receiver)]);
  await pass('0 s');
  wake();
  await until(async () => (await consumer())?.['behind'] === 0);
  expect(numbers(receiver.accepted).sort()).toEqual([1, 2, 3, 3, 4, 4, 5, 6]);
});

test('the next events of a receiver are found without reading all its waiting events', async () => {
  const count = 5_000;
  await addReceivers(ledger.db, ['shop', 'crm']);
  await query(`
    insert into ledger.events (seq, recorded_at, wallet, kind, key, data)
    select n, now(), 'main', 'transaction.seen', 'o' || n % 2000, '{}' from generate_series(1, ${count}) as n;
    analyze ledger.events`);
  const next = (db: LedgerDb, receiver: string) =>
    readDueDeliveries(db, receiver, { max: 4, isProbe: false });
  /** Counters of this connection; within a transaction they include only its own work, and are current. */
  const rowsRead = async (db: LedgerDb) => {
    const { rows } = await db.execute<{ rows: number }>(sql`
      select sum(seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables
       where relname in ('deliveries', 'events')`);
    return Number(rows[0]?.rows);
  };
  await next(ledger.db, 'shop');
  await next(ledger.db, 'crm');
  await query('analyze engine.deliveries');

  const { due, rows } = await ledger.transaction(async (tx) => {
    const before = await rowsRead(tx);
    const found = await next(tx, 'shop');
    return { due: found, rows: (await rowsRead(tx)) - before };
  });
  expect(due.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  expect(rows).toBeLessThan(count / 10);
});
