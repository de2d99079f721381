import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { numberEvents } from '../support/number-events.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, connectionString } = await withLedger();
const writers = 8;
const changesEach = 250;
const rows = 20;

/** Changes random rows in transactions of one to three changes, one in ten of them rolled back; counts what stays. */
async function write(index: number): Promise<number> {
  const client = new Client({ connectionString });
  await client.connect();
  let kept = 0;
  for (let left = changesEach; left > 0; ) {
    const size = Math.min(left, 1 + Math.floor(Math.random() * 3));
    const keys = Array.from({ length: size }, () => Math.floor(Math.random() * rows));
    const isKept = Math.random() > 0.1;
    await client.query('begin');
    for (const key of keys.sort((a, b) => a - b))
      await client.query(
        `update ledger.transactions set confirm_num = confirm_num + 1 where order_no = 'o${key}'`,
      );
    if (Math.random() < 0.1) await delay(index);
    await client.query(isKept ? 'commit' : 'rollback');
    if (isKept) kept += size;
    left -= size;
  }
  await client.end();
  return kept;
}

/** Gives numbers without pause on a connection of its own, which is killed again and again. */
async function sequence(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const client = new Client({ connectionString, application_name: 'sequencer' });
    client.on('error', () => undefined);
    try {
      await client.connect();
      while (!signal.aborted) await client.query('select engine.sequence_events(7)');
    } catch {
      // Killed; the next one takes over.
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

async function kill(signal: AbortSignal): Promise<number> {
  let kills = 0;
  while (!signal.aborted) {
    const ended = await query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'sequencer' and datname = current_database() order by random() limit 1`,
    );
    kills += ended.length;
    await delay(20);
  }
  return kills;
}

test('of many writers and killed sequencers no change is missed, none is told twice, each row in its order', async () => {
  await query(`insert into ledger.transactions (order_no, stream, confirm_num, is_backfilled)
               select 'o' || n, 'deposit', 0, true from generate_series(0, ${rows - 1}) as n`);
  const over = new AbortController();
  const sequencers = [1, 2, 3].map(() => sequence(over.signal));
  const killer = kill(over.signal);
  const kept = await Promise.all(Array.from({ length: writers }, (_, index) => write(index)));
  over.abort();
  expect(await killer).toBeGreaterThan(10);
  await Promise.all(sequencers);
  await numberEvents(ledger.db);

  const changes = kept.reduce((sum, each) => sum + each, 0);
  const [totals] = await query(
    `select count(*)::int as events, max(seq)::int as head, min(seq)::int as first from ledger.events`,
  );
  expect(totals).toEqual({ events: changes, head: changes, first: 1 });
  expect(
    await query(`select key from (
        select key, (data ->> 'confirm_num')::int - lag((data ->> 'confirm_num')::int, 1, 0) over (partition by key order by seq) as step
          from ledger.events) as steps where step <> 1`),
  ).toEqual([]);
  expect(
    await query(`select order_no from ledger.transactions t
                  where confirm_num <> (select count(*) from ledger.events e where e.key = t.order_no)`),
  ).toEqual([]);
  expect(await query('select from engine.outbox')).toEqual([]);
});
