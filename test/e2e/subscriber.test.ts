import { expect, test } from 'vitest';
import {
  type Published,
  runbookSql,
  subscribe,
  withLogicalCluster,
} from '../support/logical-cluster.ts';
import { queryOnce } from '../support/on-database.ts';
import { toolsFolder } from '../support/postgres-tools.ts';
import { runProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

const publisherOnly = ['feed_consumers', 'feed_problems', 'problems'];
/** Views that read tables of `engine`, and have rows in these tests. */
const readFromEngine = [
  'booked_days',
  'chain_totals',
  'daily_fees',
  'daily_flows',
  'daily_totals',
  'pending_transactions',
  'reconciliation',
  'state_transitions',
  'totals',
  'waiting_details',
];

/** A published ledger with transactions and a filled pool. */
async function withBooks(): Promise<Published> {
  const service = await withLogicalCluster(200);
  const books = { ...service, env: { ...service.env, ADDRESS_POOLS: '60:5:10' } };
  expect(await runProgram(['migrate', '--publication', 'books'], books.env)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('published as books'),
  });
  expect(await runProgram(['sync'], books.env)).toMatchObject({ code: 0 });
  return books;
}

/** Changes what subscribers follow: an address, transactions, and the state of one. */
async function goOn({ env, query, sandbox }: Published, reference: string): Promise<void> {
  expect(await query(`select ledger.take_address(60, '${reference}') as a`)).toEqual([
    { a: expect.stringMatching(/^0x/) },
  ]);
  sandbox.world.addTransactions(20, { type: 'deposit', state: 'success' });
  sandbox.world.addTransactions(5, { type: 'withdraw', state: 'pending' });
  const [known] = sandbox.world.transactions('withdraw');
  sandbox.world.setState(known?.orderNo ?? '', 'reverted');
  expect(await runProgram(['verify', '--repair'], env)).toMatchObject({ code: 0 });
}

/** Waits until the subscriber has applied everything that is committed. */
async function caughtUp({ query }: Published, copy: string): Promise<void> {
  const [now] = await query('select pg_current_wal_lsn()::text as lsn');
  await until(async () => {
    const [slot] = await query(
      `select confirmed_flush_lsn >= '${now?.['lsn']}'::pg_lsn as done from pg_replication_slots where slot_name = 'copy'`,
    );
    const unready = await queryOnce(
      copy,
      `select from pg_subscription_rel where srsubstate <> 'r'`,
    );
    return slot?.['done'] === true && unready.length === 0;
  }, 30_000);
}

/** The rows of a relation of `ledger` as text. Ages move with the clock, and are left out. */
function contents(url: string, relation: string): Promise<object[]> {
  return queryOnce(
    url,
    `select (to_jsonb(t) - 'age' - 'lag_seconds')::text as row from ledger.${relation} t order by 1`,
  );
}

async function relations(url: string): Promise<string[]> {
  const rows = await queryOnce<{ name: string }>(
    url,
    `select relname::text as name from pg_class
      where relnamespace = 'ledger'::regnamespace and relkind in ('r', 'v') and relpersistence = 'p' order by 1`,
  );
  return rows.map(({ name }) => name);
}

function takenBy(url: string, reference: string): Promise<object[]> {
  return queryOnce(url, 'select from ledger.addresses where assigned_to = $1', [reference]);
}

test.skipIf(!toolsFolder)(
  'a subscriber of the runbook follows addresses that are taken, and its views answer as those of the ledger',
  async () => {
    const books = await withBooks();
    const url = books.cluster.url();
    await books.query(runbookSql('create role warehouse'));
    const granted = await runProgram(['migrate', '--reader', 'warehouse'], books.env);
    expect(granted).toMatchObject({ code: 0 });
    expect(
      await queryOnce(url.replace('postgres@', 'warehouse@'), 'show statement_timeout'),
    ).toEqual([{ statement_timeout: '0' }]);
    const copy = await subscribe(books, 'warehouse');
    await queryOnce(copy, runbookSql('drop view'));
    await caughtUp(books, copy);

    await goOn(books, 'customer');
    await caughtUp(books, copy);
    expect(await takenBy(copy, 'customer')).toHaveLength(1);
    const names = await relations(copy);
    expect(names).toEqual((await relations(url)).filter((name) => !publisherOnly.includes(name)));
    const different: string[] = [];
    const filled: string[] = [];
    // The view `contract` describes the relations that are there.
    for (const name of names.filter((each) => each !== 'contract')) {
      const rows = await contents(url, name);
      if (rows.length > 0) filled.push(name);
      if (JSON.stringify(rows) !== JSON.stringify(await contents(copy, name))) different.push(name);
    }
    expect(different).toEqual([]);
    expect(filled).toEqual(expect.arrayContaining(readFromEngine));
  },
  120_000,
);

test.skipIf(!toolsFolder)(
  'a subscriber that an earlier publication has stopped continues after the steps of the runbook',
  async () => {
    const books = await withBooks();
    await books.query(`
      alter table ledger.addresses replica identity default;
      drop index ledger.addresses_published;
      alter publication books drop table engine.all_sums, engine.daily_sums, engine.detail_checks,
                                         engine.total_changes, engine.transition_counts`);
    const copy = await subscribe(books);
    await caughtUp(books, copy);
    await goOn(books, 'customer');
    await until(async () => {
      const [stats] = await queryOnce(
        copy,
        'select apply_error_count > 0 as stopped from pg_stat_subscription_stats',
      );
      return stats?.['stopped'] === true;
    }, 30_000);
    expect(await takenBy(copy, 'customer')).toEqual([]);
    expect(await contents(copy, 'daily_totals')).toEqual([]);

    await books.query('alter publication books drop table ledger.addresses');
    const refresh = 'alter subscription copy refresh publication';
    const steps = runbookSql('alter subscription warehouse refresh').split('\n');
    for (const step of [refresh, ...steps.slice(1)]) await queryOnce(copy, step);
    const again = await runProgram(['migrate', '--publication', 'books'], books.env);
    expect(again).toMatchObject({ code: 0 });
    await queryOnce(copy, refresh);
    await caughtUp(books, copy);
    expect(await takenBy(copy, 'customer')).toHaveLength(1);
    await goOn(books, 'another');
    await caughtUp(books, copy);
    expect(await takenBy(copy, 'another')).toHaveLength(1);
    expect(await contents(copy, 'daily_totals')).toEqual(
      await contents(books.cluster.url(), 'daily_totals'),
    );
  },
  120_000,
);

test('every published row has an identity that is sent, and every view but those for the publisher is fed', async () => {
  const service = await withService({ transactions: 0 });
  expect(await runProgram(['migrate', '--publication', 'books'], service.env)).toMatchObject({
    code: 0,
  });
  const published = `select c.oid, c.relreplident, c.oid::regclass::text as name
    from pg_publication_rel r join pg_class c on c.oid = r.prrelid`;
  const unfit = await service.query(`
    select p.name from (${published}) p
      left join pg_index i on i.indrelid = p.oid
       and case p.relreplident when 'i' then i.indisreplident when 'd' then i.indisprimary else false end
     where p.relreplident <> 'f' and i.indexrelid is null
        or exists (select from pg_attribute a
                    where a.attrelid = p.oid and a.attgenerated <> ''
                      and (p.relreplident = 'f' or a.attnum = any (i.indkey)))`);
  expect(unfit).toEqual([]);
  const unfed = await service.query(`
    with recursive reads as (
      select v.relname::text as view, v.oid from pg_class v
       where v.relnamespace = 'ledger'::regnamespace and v.relkind = 'v'
      union
      select r.view, d.refobjid from reads r join pg_rewrite w on w.ev_class = r.oid
        join pg_depend d on d.objid = w.oid and d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
    )
    select distinct r.view from reads r join pg_class c on c.oid = r.oid and c.relkind = 'r'
     where c.relnamespace in ('ledger'::regnamespace, 'engine'::regnamespace)
       and c.oid not in (select oid from (${published}) p) order by 1`);
  expect(unfed.map(({ view }) => view)).toEqual(publisherOnly);
});
