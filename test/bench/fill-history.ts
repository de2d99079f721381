import type pg from 'pg';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { newCheckpoint } from '../../src/sync/list/list-checkpoint.ts';
import { type VirtualHistory, virtualRowsSql } from './virtual-history.ts';

export const pageSize = 100;

/**
 * Puts a history into the ledger in the state after a completed full scan and all details. Its indexes are built
 * afterwards, which takes a third less time. Autovacuum is off for the tables to be measured.
 */
export async function fillHistory(ledger: Ledger, history: VirtualHistory): Promise<void> {
  const client = await ledger.patient();
  try {
    await client.query(`set synchronous_commit = off; set maintenance_work_mem = '512MB'`);
    await withoutAutovacuum(client);
    await withoutIndexes(client, 'transactions', () => insertTransactions(client, history));
    for (const [name, count] of Object.entries(history.counts)) {
      await client.query(
        `insert into ledger.streams (name, list_order, page_size, service_total, ledger_count, is_backed,
                                     count_at_last_pass, last_walk_at, last_success_at, checkpoint)
         values ($1, 'newest-first', $2, $3, $3, true, $3, now(), now(), $4)
         on conflict (wallet, name) do update
           set list_order = excluded.list_order, page_size = excluded.page_size, service_total = excluded.service_total,
               ledger_count = excluded.ledger_count, is_backed = true, count_at_last_pass = excluded.ledger_count,
               last_walk_at = now(), last_success_at = now(), checkpoint = excluded.checkpoint`,
        [name, pageSize, count, { ...newCheckpoint(pageSize), totalAtLastMatch: count, walks: 1 }],
      );
    }
    await client.query('vacuum (analyze) ledger.transactions');
    await client.query('checkpoint');
  } finally {
    await client.end();
  }
}

async function insertTransactions(client: pg.Client, history: VirtualHistory): Promise<void> {
  await client.query(`
    insert into ledger.transactions (order_no, stream, request_id, symbol, tx_hash, from_address, to_address, amount,
      type, state, occurred_at, confirm_num, fee, fee_symbol, is_final, is_success, is_backfilled, first_seen_at,
      changed_at, observed_at, detail_synced_at)
    select v.*, 12, case v.stream when 'withdraw' then 0.0021 else 0 end, 'ETH', true, v.state = 'success', true, seen.at,
           seen.at, seen.at, seen.at + interval '1 minute'
      from (${virtualRowsSql(history)}) as v
     cross join lateral (select v.occurred_at + interval '30 seconds') as seen (at)`);
}

async function withoutAutovacuum(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `select format('alter table %I.%I set (autovacuum_enabled = off)', schemaname, tablename) as statement
       from pg_tables where schemaname = 'ledger'`,
  );
  for (const { statement } of rows) await client.query(statement);
}

/** Runs `work` on the table without its indexes, and creates them again afterwards. */
async function withoutIndexes(
  client: pg.Client,
  table: string,
  work: () => Promise<void>,
): Promise<void> {
  const { rows } = await client.query<{ drop: string; create: string }>(
    `select case when c.oid is null then format('drop index ledger.%I', i.indexname)
                 else format('alter table ledger.%I drop constraint %I', i.tablename, c.conname) end as drop,
            case when c.oid is null then i.indexdef
                 else format('alter table ledger.%I add constraint %I %s', i.tablename, c.conname,
                             pg_get_constraintdef(c.oid)) end as create
       from pg_indexes i
       left join pg_constraint c on c.conname = i.indexname and c.connamespace = 'ledger'::regnamespace
      where i.schemaname = 'ledger' and i.tablename = $1`,
    [table],
  );
  for (const { drop } of rows) await client.query(drop);
  await work();
  for (const { create } of rows) await client.query(create);
}
