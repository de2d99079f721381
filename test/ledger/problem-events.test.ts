import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { readEvents } from '../../src/ledger/feed/event-store.ts';
import { watchProblems } from '../../src/ledger/feed/watch-problems.ts';
import type { Problem } from '../../src/ledger/reports/ledger-status.ts';
import { numberEvents } from '../support/number-events.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query, clear } = await withLedger();

beforeEach(async () => {
  await clear();
  await query(
    'truncate engine.outbox, ledger.events, engine.consumers, engine.webhooks, engine.deliveries, engine.raised_problems, engine.queue_problems',
  );
});

/** The events of problems as `raised pool_empty critical 60`; of one problem only if it is named. */
async function told(name = ''): Promise<string[]> {
  await numberEvents(ledger.db);
  const events = await readEvents(ledger.db, 0, 1_000);
  return events
    .filter(({ kind, key }) => kind.startsWith('problem.') && key.includes(name))
    .map(({ kind, key, data }) =>
      [kind.replace('problem.', ''), key, data['severity'], data['subject']].join(' ').trim(),
    );
}

/** Updates the problems on the feed, and returns the new events of this problem. */
async function toldNow(name: string): Promise<string[]> {
  const before = await told(name);
  await query('select engine.note_problems()');
  return (await told(name)).slice(before.length);
}

/** Stores the result of a comparison of balances and transactions. */
async function compare(symbol: string, difference: number, more: { chain?: number } = {}) {
  const { chain = null } = more;
  await query(`insert into ledger.reconciliation_runs
    (symbol, slip44, contract_address, observed_at, expected, reported, difference, is_explained, unexplained_since)
    values ('${symbol}', ${chain}, ${chain === null ? 'null' : "''"}, now(), 1, 1 + ${difference}, ${difference},
            ${difference === 0}, ${difference === 0 ? 'null' : 'now()'})`);
}

test('a problem is on the feed once when it begins and once when it ends, also with several daemons', async () => {
  const watchers = [ledger, connect(), connect()].map((own) => watchProblems(own, silentLog));
  onTestFinished(async () => {
    for (const watcher of watchers) await watcher.close();
  });
  const wakeAll = () => {
    for (const { wake } of watchers) wake();
  };
  await query(`insert into ledger.pools (slip44, threshold, target) values (60, 3, 5), (61, 3, 5)`);
  await until(async () => {
    wakeAll();
    return (await told('pool_empty')).length > 0;
  });
  const raised = ['raised pool_empty critical 60', 'raised pool_empty critical 61'];
  expect(await told('pool_empty')).toEqual(raised);
  const [event] = (await readEvents(ledger.db, 0, 100)).filter(({ key }) => key === 'pool_empty');
  expect(event?.data).toEqual({
    name: 'pool_empty',
    severity: 'critical',
    since: null,
    what: expect.stringContaining('chain 60'),
    cure: expect.stringContaining('pool refill 60'),
    subject: '60',
  });
  await query('delete from ledger.pools');
  await until(async () => {
    wakeAll();
    return (await told('pool_empty')).length > raised.length;
  });
  const ended = await told();
  expect(ended.filter((one) => one.includes('pool_empty'))).toEqual([
    ...raised,
    'cleared pool_empty critical 60',
    'cleared pool_empty critical 61',
  ]);
  for (let count = 0; count < 5; count += 1) await query('select engine.note_problems()');
  expect(await told()).toEqual(ended);
});

test('each of several problems of one kind is reported when it begins and when it ends', async () => {
  const name = 'unexplained_difference';
  await compare('BTC', 1);
  await compare('ETH', 1);
  expect(await toldNow(name)).toEqual([
    `raised ${name} critical BTC`,
    `raised ${name} critical ETH`,
  ]);
  await compare('USDT', 1);
  await compare('USDT', 1, { chain: 195 });
  expect(await toldNow(name)).toEqual([
    `raised ${name} critical USDT`,
    `raised ${name} critical 195/USDT`,
  ]);
  await compare('BTC', 0);
  expect(await toldNow(name)).toEqual([`cleared ${name} critical BTC`]);
  for (const symbol of ['ETH', 'USDT']) await compare(symbol, 0);
  await compare('USDT', 0, { chain: 195 });
  expect(await toldNow(name)).toHaveLength(3);
});

test('a problem whose text or age changes is still the same problem', async () => {
  const name = 'unexplained_difference';
  await compare('BTC', 1);
  expect(await toldNow(name)).toEqual([`raised ${name} critical BTC`]);
  await compare('BTC', 2);
  await query(`update ledger.reconciliation_runs set unexplained_since = now() - interval '1 day'`);
  expect(await toldNow(name)).toEqual([]);
  await compare('BTC', 0);
  expect(await toldNow(name)).toEqual([`cleared ${name} critical BTC`]);
});

test('each consumer and webhook that lags is a problem of its own', async () => {
  await query(`insert into ledger.events (wallet, seq, recorded_at, kind, key, data)
               select '', coalesce(max(seq), 0) + 1, now() - interval '2 days', 'k', 'a', '{}' from ledger.events;
               insert into engine.consumers (name, role, position)
               select n, 'r', ledger.events_head() - 1 from unnest(array['books', 'crm']) as n;
               insert into engine.webhooks (name, position) values ('crm', ledger.events_head() - 1)`);
  const raised = ['consumer books', 'consumer crm', 'webhook crm'];
  expect(await toldNow('feed_consumer_stalled')).toEqual(
    raised.map((subject) => `raised feed_consumer_stalled warning ${subject}`),
  );
  await query(`delete from engine.consumers where name = 'crm'`);
  expect(await toldNow('feed_consumer_stalled')).toEqual([
    'cleared feed_consumer_stalled warning consumer crm',
  ]);
});

test('the columns of the problems keep their positions', async () => {
  const columns = await query<{ names: string[] }>(
    `select array_agg(attname::text order by attnum) as names from pg_attribute
      where attrelid = 'ledger.problems'::regclass and attnum > 0`,
  );
  expect(columns[0]?.names).toEqual([
    ...['name', 'severity', 'since', 'what', 'cure', 'wallet'],
    'subject',
  ]);
});

test('a problem that only a daemon can see is reported from the second sight on, until it is no longer seen', async () => {
  const stuck: Problem = {
    name: 'queue_stuck',
    severity: 'critical',
    since: null,
    what: 'the queue is paused',
    cure: 'resume it',
  };
  let found = [stuck, { ...stuck, what: 'said twice' }];
  const watcher = watchProblems(ledger, silentLog, async () => found);
  onTestFinished(() => watcher.close());
  const seen = () => query('select seen_at::text, what from engine.queue_problems');
  const look = async () => {
    const [before] = await seen();
    watcher.wake();
    await until(async () => (await seen())[0]?.['seen_at'] !== before?.['seen_at']);
    await query('select engine.note_problems()');
  };
  const standing = () =>
    query(`select name, severity, wallet, since < now() - interval '20 seconds' as is_old, what, cure
             from ledger.problems where name = 'queue_stuck'`);
  await look();
  expect(await standing()).toEqual([]);
  found = [stuck];
  await query(`update engine.queue_problems set since = since - interval '30 seconds'`);
  await look();
  const { what, cure } = stuck;
  expect(await standing()).toEqual([
    { name: 'queue_stuck', severity: 'critical', wallet: '', is_old: true, what, cure },
  ]);
  expect(await told('queue_stuck')).toEqual(['raised queue_stuck critical']);
  await query(
    `update engine.queue_problems set since = since - interval '95 seconds', seen_at = seen_at - interval '95 seconds'`,
  );
  expect(await standing()).toEqual([]);
  expect(await toldNow('queue_stuck')).toEqual(['cleared queue_stuck critical']);
  // It begins again.
  await look();
  expect(await standing()).toEqual([]);
});
