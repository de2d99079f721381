import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { BenchPart } from '../bench.ts';
import { runProduct } from '../run-product.ts';
import { startDaemon } from '../running-daemon.ts';
import { startSandboxProcess } from '../sandbox-process.ts';

/** Tables of facts whose rows change while a wallet lives. */
const factTables = ['transactions', 'balances', 'coins', 'addresses'];
/** Columns with the time and the observation of a row's write, which are no facts of it. */
const bookKeeping = [
  'changed_at',
  'observed_at',
  'observation',
  'seal',
  'list_word',
  'detail_word',
  'detail_synced_at',
];

/**
 * Updates that a subscriber of the ledger's tables gets from a live wallet, and the cost of updates in schema `engine`.
 */
export const liveWritesPart: BenchPart = {
  letters: 'x',
  title: 'updates of a live wallet with a transaction a second',
  async run(bench) {
    const seconds = bench.isQuick ? 20 : 60;
    const database = await bench.database();
    const sandbox = await startSandboxProcess(bench, {
      transactions: 5_000,
      arrivalsPerSecond: 1,
      settleMs: 10_000,
    });
    const env = { ...sandbox.env, DATABASE_URL: database, ADDRESS_POOLS: '60:20:40' };
    await runProduct(['backfill'], { ...env, WALLET_MAX_RPS: 'off' });
    const client = new Client({ connectionString: database });
    await client.connect();
    await client.query(recordUpdates());
    await client.query('select pg_stat_reset()');
    const daemon = await startDaemon(bench, env);
    await delay(seconds * 1_000);
    await daemon.stop();
    const [seen] = (
      await client.query<{ updates: number; empty: number; rows: number; per_row: number }>(`
        select count(*)::int as updates,
               count(*) filter (where facts = '{}')::int as empty,
               count(distinct row_key)::int as rows,
               (count(*) filter (where relation = 'transactions'))::float8
                 / greatest(1, count(distinct row_key) filter (where relation = 'transactions')) as per_row
          from public.updates_seen`)
    ).rows;
    const [engine] = (
      await client.query<{ hot: number; all: number }>(`
        select sum(n_tup_hot_upd)::float8 as hot, sum(n_tup_upd)::float8 as all
          from pg_stat_user_tables where schemaname = 'engine'`)
    ).rows;
    await client.end();
    await sandbox.close();
    await bench.dropDatabase(database);
    if (!seen || seen.updates === 0 || !engine) throw new Error('nothing was updated');
    const part = 'x';
    return [
      {
        part,
        what: 'updates of rows of facts that change no fact',
        unit: 'updates',
        samples: [seen.empty],
        target: { of: 'value', atMost: 0 },
        note: `of ${seen.updates} updates of ${seen.rows} rows within ${seconds} s`,
      },
      {
        part,
        what: 'updates of each changed transaction',
        unit: 'updates',
        samples: [seen.per_row],
      },
      {
        part,
        what: "updates of the machinery's rows within their page (HOT)",
        unit: '%',
        samples: [(engine.hot / engine.all) * 100],
        note: `of ${engine.all} updates in the schema engine`,
      },
    ];
  },
};

/** Records each update with the columns of facts that it changed: what a subscriber would be sent. */
function recordUpdates(): string {
  const ignored = bookKeeping.map((name) => `'${name}'`).join(', ');
  const triggers = factTables.map(
    (table) => `create trigger seen after update on ledger.${table}
                  for each row execute function public.note_update();`,
  );
  return `
    create table public.updates_seen (relation text, row_key text, facts text[]);
    create function public.note_update() returns trigger language plpgsql security definer as $$
    begin
      insert into public.updates_seen
      select tg_table_name, coalesce(to_jsonb(new) ->> 'order_no', to_jsonb(new) ->> 'address_key', to_jsonb(new) ->> 'symbol'),
             array(select n.key from jsonb_each(to_jsonb(new)) n
                    where n.key not in (${ignored}) and n.value is distinct from to_jsonb(old) -> n.key);
      return null;
    end $$;
    ${triggers.join('\n')}`;
}
