import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { runProgram } from '../support/run-cli.ts';
import { type Service, withService } from '../support/with-service.ts';

/** Views that analysts built on the schema of an earlier version. */
const views: Record<string, string> = {
  everything: 'select * from ledger.transactions',
  deposits: `select order_no, symbol, amount, occurred_at from ledger.transactions where stream = 'deposit'`,
  withdrawals: `select t.*, a.assigned_to from ledger.transactions t left join ledger.addresses a on a.address = t.to_address
                 where t.stream = 'withdraw'`,
  by_state:
    'select state, is_final, is_success, count(*) as n from ledger.transactions group by 1, 2, 3',
  changes: 'select * from ledger.transaction_changes',
  changes_per_order: 'select order_no, count(*) as n from ledger.transaction_changes group by 1',
  balances: 'select * from ledger.balances',
  balance_changes: 'select * from ledger.balance_changes',
  held: 'select symbol, sum(balance) as balance from ledger.balances where is_listed group by 1',
  coins: 'select * from ledger.coins',
  coin_changes: 'select * from ledger.coin_changes',
  addresses:
    'select slip44, address, status, assigned_to, assigned_at, first_seen_at from ledger.addresses',
  requests: 'select * from ledger.address_requests',
  streams:
    'select name, service_total, ledger_count, is_complete, not_complete_because, verified_through from ledger.streams',
  proofs: 'select * from ledger.stream_proofs',
  coverage: 'select * from ledger.coverage',
  rejects: 'select * from ledger.rejects where resolved_at is null',
  runs: 'select * from ledger.sync_runs',
  flows: 'select * from ledger.daily_flows',
  pending: 'select * from ledger.pending_transactions',
  history: 'select * from ledger.balance_history',
  pools: 'select * from ledger.pool_levels',
  health: 'select * from ledger.sync_health',
  reconciliation: 'select * from ledger.reconciliation',
  transitions: 'select * from ledger.state_transitions',
  problems: 'select * from ledger.problems',
  postings: 'select * from ledger.postings',
  last_month: `select * from ledger.transactions_at(now() - interval '1 month')`,
};
const names = Object.keys(views);

/** A ledger as an earlier version left it, with what analysts put on top, owned by their own role. */
async function withEarlierLedger(service: Service, before: string): Promise<string> {
  const role = `analyst_${process.pid}_${Date.now()}`;
  const connectionString = service.env['DATABASE_URL'] ?? '';
  const ledger = connectLedger({ connectionString, poolSize: 2, log: silentLog });
  try {
    await migrateBefore(ledger, before);
  } finally {
    await ledger.close();
  }
  onTestFinished(async () => {
    await service.query(`drop owned by ${role} cascade; drop role ${role}`);
  });
  await service.query(`
    create role ${role};
    grant usage on schema ledger to ${role};
    grant select on all tables in schema ledger to ${role};
    alter default privileges in schema ledger grant select on tables to ${role};
    select engine.settle_rights();
    create schema analysts authorization ${role};
    create publication warehouse for table ledger.transactions, ledger.transaction_changes, ledger.balances, ledger.streams`);
  const made = names.map((name) => `create view analysts.${name} as ${views[name]}`);
  await service.query(`set role ${role}; ${made.join('; ')};
    create materialized view analysts.kept as select * from ledger.transactions;
    grant select on all tables in schema analysts to pg_read_all_stats; reset role`);
  return role;
}

/** Columns of the analysts' views, the rights on them, and what is published. */
async function standing({ query }: Service) {
  return {
    columns: await query(`
      select c.relname, string_agg(a.attname || ' ' || a.atttypid::regtype, ', ' order by a.attnum) as columns, c.relacl::text
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace = 'analysts'::regnamespace group by c.oid order by 1`),
    published: await query(
      `select schemaname, tablename from pg_publication_tables where pubname = 'warehouse' order by 2`,
    ),
  };
}

test('an upgrade keeps the views, grants and publication of analysts, and all of them answer afterwards', async () => {
  const service = await withService({ transactions: 200 }, { isMigrated: false });
  const role = await withEarlierLedger(service, 'change_feed');
  const before = await standing(service);
  expect(before.columns.length).toBeGreaterThanOrEqual(20);
  expect(before.published).toHaveLength(4);

  const { code, stderr } = await runProgram(['migrate'], service.env);
  expect([code, stderr]).toEqual([0, expect.stringContaining('the schema is up to date')]);
  expect(await standing(service)).toEqual(before);
  expect(await runProgram(['backfill'], service.env)).toMatchObject({ code: 0 });
  expect(await runProgram(['verify'], service.env)).toMatchObject({ code: 0 });
  await service.query(`set role ${role}; refresh materialized view analysts.kept`);
  const empty: string[] = [];
  for (const name of [...names, 'kept']) {
    const rows = await service.query(`select * from analysts.${name} limit 5`);
    if (rows.length === 0) empty.push(name);
  }
  expect(await service.query('select from analysts.everything')).toHaveLength(200);
  const unread = await service.query(`
    select c.relname from pg_class c
     where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'v') and not has_table_privilege(c.oid, 'select')`);
  await service.query('reset role');
  expect(unread).toEqual([]);
  const nothingToSay = [
    'changes',
    'changes_per_order',
    'addresses',
    'requests',
    'rejects',
    'pending',
    'pools',
  ];
  const others = [...nothingToSay, 'transitions', 'problems', 'last_month'];
  expect(empty.filter((name) => !others.includes(name))).toEqual([]);
}, 120_000);
