import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { numberEvents } from '../support/number-events.ts';
import { judgeFeed, stormFeed, stormRows } from '../support/storm-feed.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, connectionString } = await withLedger();
const changes = 2_000;
const rows = 20;

async function killSequencers(signal: AbortSignal): Promise<number> {
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

test('with many writers and killed sequencers each change is reported exactly once, and each row in its order', async () => {
  await query(stormRows(rows));
  const over = new AbortController();
  const killer = killSequencers(over.signal);
  const written = await stormFeed({ connectionString: () => connectionString, changes, rows });
  over.abort();
  expect(await killer).toBeGreaterThan(10);
  await numberEvents(ledger.db);
  expect(written).toEqual({ kept: changes, unknown: 0 });
  expect(await judgeFeed(query, written)).toEqual([]);

  await query(`delete from ledger.events where seq = 7`);
  expect(await judgeFeed(query, written)).toEqual([expect.stringContaining('"misplaced":')]);
});
