import { beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { isFailing, readFeedConsumers } from '../../src/ledger/feed/consumer-report.ts';
import { pruneEvents } from '../../src/ledger/feed/event-store.ts';
import { addReceivers, noteReceivers } from '../../src/ledger/feed/webhook-store.ts';
import { consumerWords } from '../../src/status/consumer-words.ts';
import { deliverWebhooks } from '../../src/webhooks/deliver-webhooks.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();
const { db } = ledger;

beforeEach(async () => {
  await query('truncate ledger.events, engine.webhooks, engine.deliveries, engine.consumers');
  await query(`insert into ledger.events (seq, recorded_at, kind, key, data)
               select n, now(), 'k', 'a', '{}' from generate_series(1, 3) as n`);
  await addReceivers(db, ['shop', 'crm']);
  await query(`insert into ledger.events (seq, recorded_at, kind, key, data)
               select n, now(), 'k', 'a', '{}' from generate_series(4, 6) as n`);
});

/** Backdates the time at which a daemon last had the receivers. */
const pass = (interval: string) =>
  query(`update engine.webhooks set set_at = set_at - interval '${interval}'`);
const states = async () =>
  Object.fromEntries((await readFeedConsumers(db)).map(({ name, state }) => [name, state]));
const problems = async () =>
  await query(`select name, what, cure from ledger.problems where name like 'feed%' order by name`);

test('a webhook that no daemon has configured any more is unset, which is no failure, and the remedy is given', async () => {
  await noteReceivers(db, ['shop']);
  expect(await states()).toEqual({ shop: 'reading', crm: 'reading' });
  await pass('1 minute');
  await noteReceivers(db, ['shop']);
  expect(await states()).toEqual({ shop: 'reading', crm: 'unset' });
  const crm = (await readFeedConsumers(db)).find(({ name }) => name === 'crm');
  expect(crm).toMatchObject({ position: 3, lagEvents: 3, failingSince: null, lastError: null });
  expect(crm && isFailing(crm)).toBe(false);
  expect(crm && consumerWords(crm)).toMatch(
    /unset: no daemon has it in FEED_WEBHOOKS any more; set it again.* delete from engine\.webhooks where name = 'crm'/,
  );
  await addReceivers(db, ['shop', 'crm']);
  await noteReceivers(db, ['shop', 'crm']);
  expect(await states()).toEqual({ shop: 'reading', crm: 'reading' });
  expect((await readFeedConsumers(db)).map(({ position }) => position)).toEqual([3, 3]);
});

test('a webhook stays set while one daemon has it and another one does not', async () => {
  for (let round = 0; round < 4; round += 1) {
    await pass('30 seconds');
    await noteReceivers(db, ['shop']);
    expect(await states()).toEqual({ shop: 'reading', crm: 'reading' });
    await noteReceivers(db, ['shop', 'crm']);
  }
});

test('a daemon without webhooks marks all as unset, including those that failed', async () => {
  await query(`insert into engine.deliveries (receiver, seq, key, failed_since)
               values ('crm', 2, '/a', now() - interval '1 hour')`);
  await query(`update engine.webhooks set last_error = 'it answered 500' where name = 'crm'`);
  await query(
    `update engine.webhooks set paused_at = now(), stopped_because = 'it is gone' where name = 'shop'`,
  );
  expect(await states()).toEqual({ shop: 'stopped', crm: 'failing' });
  expect(await problems()).toHaveLength(2);
  await pass('1 minute');
  await noteReceivers(db, []);
  expect(await states()).toEqual({ shop: 'unset', crm: 'unset' });
  expect(await problems()).toEqual([]);
  await noteReceivers(db, ['shop', 'crm']);
  expect(await states()).toEqual({ shop: 'stopped', crm: 'failing' });
});

test('the events of an unset webhook are kept for 30 days with a warning, and no loss is reported afterwards', async () => {
  await pass('1 minute');
  await noteReceivers(db, ['shop']);
  await query(`update engine.webhooks set position = 6 where name = 'shop'`);
  const age = (days: number) =>
    query(`update ledger.events set recorded_at = now() - interval '${days} days'`);
  await age(29);
  await pruneEvents(db);
  expect(await query('select min(seq)::int as oldest from ledger.events')).toEqual([{ oldest: 4 }]);
  expect(await problems()).toEqual([
    {
      name: 'feed_consumer_stalled',
      what: expect.stringContaining('no daemon has in FEED_WEBHOOKS any more'),
      cure: expect.stringMatching(
        /^set it in FEED_WEBHOOKS again.*`delete from engine\.webhooks where name = 'crm'`$/,
      ),
    },
  ]);
  await age(31);
  await pruneEvents(db);
  expect(await query('select min(seq)::int as oldest from ledger.events')).toEqual([{ oldest: 6 }]);
  expect(await states()).toEqual({ shop: 'reading', crm: 'unset' });
  expect(await problems()).toEqual([]);
  await noteReceivers(db, ['shop', 'crm']);
  expect(await states()).toEqual({ shop: 'reading', crm: 'lost' });
  expect((await problems()).map(({ name }) => name)).toEqual(['feed_events_lost']);
  const lost = (await readFeedConsumers(db)).find(({ name }) => name === 'crm');
  expect(lost).toMatchObject({ lagEvents: 3, lagSeconds: null });
  expect(lost && consumerWords(lost)).toBe('at event 3 · 3 events behind · lost');
});

test('a daemon logs its receivers at its start', async () => {
  await pass('1 minute');
  const webhooks = await deliverWebhooks({
    ledger,
    receivers: [{ name: 'shop', url: 'https://127.0.0.1:1', secrets: [], isPrivateAllowed: false }],
    addJob: async () => undefined,
    onAttempt: () => undefined,
    log: silentLog,
  });
  const stop = webhooks.start();
  await until(async () => (await states())['crm'] === 'unset');
  stop();
  expect(await states()).toEqual({ shop: 'reading', crm: 'unset' });
});
