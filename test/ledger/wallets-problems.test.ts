import { beforeEach, expect, test } from 'vitest';
import { readEvents } from '../../src/ledger/feed/event-store.ts';
import { readStatus } from '../../src/ledger/reports/read-status.ts';
import { numberEvents } from '../support/number-events.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();

beforeEach(async () => {
  await clear();
  await query('truncate engine.outbox, ledger.events, engine.consumers, engine.raised_problems');
  await query(`insert into ledger.streams (wallet, name, service_total, ledger_count, last_success_at)
               select w, s, 0, 0, now() from unnest(array['main', 'w2']) as w, unnest(array['deposit', 'withdraw']) as s`);
  await query('update ledger.streams set is_backed = true');
});

/** The problems as `wallet name`. */
async function problems(): Promise<string[]> {
  const rows = await query<{ one: string }>(
    `select wallet || ' ' || name as one from ledger.problems order by 1`,
  );
  return rows.map(({ one }) => one);
}

async function told(): Promise<string[]> {
  await query('select engine.note_problems()');
  await numberEvents(ledger.db);
  const events = await readEvents(ledger.db, 0, 100);
  return events
    .filter(({ kind }) => kind.startsWith('problem.'))
    .map(({ wallet, kind, key }) => `${wallet} ${kind} ${key}`);
}

test('a problem of one wallet is not a problem of the other', async () => {
  expect(await problems()).toEqual([]);
  await query(
    `insert into ledger.pools (wallet, slip44, threshold, target) values ('w2', 60, 3, 5)`,
  );
  await query(`insert into ledger.addresses (wallet, slip44, address, status, generated_by, first_seen_at)
               select 'main', 60, 'a' || n, 'available', 1, now() from generate_series(1, 5) as n`);
  expect(await problems()).toEqual(['w2 pool_empty']);
  await query(
    `insert into ledger.pools (wallet, slip44, threshold, target) values ('main', 60, 3, 5)`,
  );
  expect(await problems()).toEqual(['w2 pool_empty']);
  await query(
    `update ledger.streams set last_success_at = now() - interval '1 hour' where wallet = 'main'`,
  );
  await query(`insert into ledger.sync_runs (wallet, job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
               values ('w2', 'transactions', now(), now(), 'done', 1, 0, 0, 0)`);
  expect(await problems()).toEqual(['main daemon_silent', 'w2 pool_empty']);
  const [row] = await query<{ wallet: string | null }>(
    `select nullif(current_setting('ledger.wallet', true), '') as wallet from ledger.problems`,
  );
  expect(row?.wallet ?? 'main').toBe('main');
});

test('with several wallets the remedy of a problem names its wallet in the commands of one wallet', async () => {
  const cures = () => query(`select wallet, cure from ledger.problems order by wallet`);
  await query(`update ledger.streams set service_total = null, last_success_at = null`);
  expect(await cures()).toEqual(
    ['main', 'main', 'w2', 'w2'].map((wallet) => ({
      wallet,
      cure: `run \`wallet-ledger start\`, or \`wallet-ledger backfill --wallet ${wallet}\` once`,
    })),
  );
  await query(`delete from ledger.streams where wallet = 'w2'`);
  const cure = 'run `wallet-ledger start`, or `wallet-ledger backfill` once';
  expect(await cures()).toEqual([
    { wallet: 'main', cure },
    { wallet: 'main', cure },
  ]);
});

test('a resting wallet has no problem, because it is not read and its pools are not filled', async () => {
  await query(
    `update ledger.streams set last_success_at = now() - interval '1 hour', last_error = 'HTTP 500'`,
  );
  await query(
    `insert into ledger.pools (wallet, slip44, threshold, target) values ('w2', 60, 3, 5)`,
  );
  await query(`insert into ledger.wallets (wallet, base_url, key_fingerprint, first_seen_at, is_resting)
               values ('main', 'a', 'a', now(), false), ('w2', 'b', 'b', now(), true)`);
  const found = await problems();
  await query('delete from ledger.wallets');
  expect(found).toEqual(['main daemon_silent']);
  expect(await problems()).toContain('w2 pool_empty');
});

test('a problem of the database exists once, and each wallet shows it', async () => {
  await query(`insert into engine.consumers (name, role, position) values ('books', 'r', 0)`);
  await query(
    `insert into ledger.events (seq, recorded_at, kind, key, data) values (1, now() - interval '2 days', 'k', 'a', '{}')`,
  );
  await query(
    `insert into ledger.pools (wallet, slip44, threshold, target) values ('w2', 60, 3, 5)`,
  );
  expect(await problems()).toEqual([' feed_consumer_stalled', 'w2 pool_empty']);
  const shown = async (wallet: string) =>
    (await readStatus(ledger.forWallet(wallet).db, [])).problems.map(({ name }) => name);
  expect(await shown('main')).toEqual(['feed_consumer_stalled']);
  expect(await shown('w2')).toEqual(['pool_empty', 'feed_consumer_stalled']);
});

test('the feed reports the begin and the end of a problem per wallet', async () => {
  await query(
    `insert into ledger.pools (wallet, slip44, threshold, target) values ('main', 60, 3, 5), ('w2', 60, 3, 5)`,
  );
  const raised = ['main problem.raised pool_empty', 'w2 problem.raised pool_empty'];
  expect((await told()).sort()).toEqual(raised);
  await query(`delete from ledger.pools where wallet = 'main'`);
  const cleared = [...raised, 'main problem.cleared pool_empty'];
  expect((await told()).sort()).toEqual(cleared.sort());
  await query('select engine.note_problems()');
  expect((await told()).sort()).toEqual(cleared.sort());
});
