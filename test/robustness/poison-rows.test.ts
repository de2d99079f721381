import fc from 'fast-check';
import { expect, test } from 'vitest';
import { syncDetails } from '../../src/sync/details/sync-details.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { forAll } from '../support/for-all.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

const total = 600;

/**
 * PostgreSQL accepts everything that the decoders accept. The poison is therefore a trigger of the test that refuses
 * rows, as a later version of PostgreSQL or an operator might.
 */
test('[V8] rows of a batch that PostgreSQL refuses are kept as rejects and all others stored, in few statements', async () => {
  const { sandbox, ledger, context } = await withWallet({ transactions: 0 });
  // Final for a long time: the service returns the same row in every reading.
  const orderNos = sandbox.world.addTransactions(total, {
    type: 'deposit',
    state: 'success',
    at: Date.now() - 86_400_000,
  });
  const query = (text: string) => ledger.pool.query(text);
  await query('create table public.poison (order_no text primary key)');
  await query(`create function public.refuse() returns trigger language plpgsql as $$ begin
    if exists (select from public.poison p where p.order_no = new.order_no) then
      raise exception using errcode = '22021', message = 'poison'; end if; return new; end $$`);
  await query(`create trigger refuse before insert on ledger.transactions
    for each row execute function public.refuse()`);
  const rollbacks = async () => {
    await query('select pg_stat_force_next_flush()');
    await query('select pg_stat_clear_snapshot()');
    const { rows } = await query(
      'select xact_rollback::int as n from pg_stat_database where datname = current_database()',
    );
    return Number(rows[0].n);
  };
  await forAll(fc.uniqueArray(fc.nat(total - 1), { maxLength: 6 }))(4, async (places) => {
    const poisoned = places.map((place) => orderNos[place] ?? '').sort();
    await query('delete from ledger.transactions; delete from ledger.streams');
    await query('delete from ledger.rejects; delete from public.poison');
    await ledger.pool.query('insert into public.poison select unnest($1::text[])', [poisoned]);
    const before = await rollbacks();
    const report = await syncTransactions(context, onePass(), ['deposit']);
    expect(report.isComplete).toBe(places.length === 0);
    const stored = await query('select order_no from ledger.transactions');
    const refused = await query(
      'select order_no, payload, source from ledger.rejects order by order_no collate "C"',
    );
    expect(stored.rowCount).toBe(total - places.length);
    expect(refused.rows.map((row) => row.order_no)).toEqual(poisoned);
    for (const row of refused.rows) expect(row.payload).toContain(row.order_no);
    // Each is found by bisection, in every reading that the pass makes to find missing rows: the first one, three
    // scans without a result, and the checks and searches before them.
    const readingsMax = 9;
    const perReading = 1 + places.length * (Math.ceil(Math.log2(total)) + 1);
    expect((await rollbacks()) - before).toBeLessThanOrEqual(readingsMax * perReading);
    sandbox.stats.reset();
    await syncTransactions(context, onePass(), ['deposit']);
    expect(sandbox.stats.listRequests.deposit).toBe(1);
    const kept = await query('select count(*)::int as n from ledger.rejects');
    expect(kept.rows).toEqual([{ n: places.length }]);
  });
}, 120_000);

test('[V8] details that PostgreSQL refuses are rejects, are postponed, and delay no other detail', async () => {
  const { ledger, context } = await withWallet({ transactions: 120 });
  await syncTransactions(context, onePass());
  await ledger.pool.query(`create function public.refuse() returns trigger language plpgsql as $$ begin
    if new.detail_synced_at is not null and abs(hashtext(new.order_no)) % 40 = 0 then
      raise exception using errcode = '22021', message = 'poison'; end if; return new; end $$`);
  await ledger.pool.query(`create trigger refuse before update on ledger.transactions
    for each row execute function public.refuse()`);
  await ledger.pool.query(`update engine.detail_checks set due_at = now()`);
  expect((await syncDetails(context, new AbortController().signal)).isComplete).toBe(false);
  const { rows } = await ledger.pool.query(`
    select abs(hashtext(order_no)) % 40 = 0 as is_poisoned, count(*)::int as n, count(detail_synced_at)::int as fetched,
           count(*) filter (where due_at <= now())::int as due
      from ledger.transactions left join ledger.waiting_details using (order_no) group by 1 order by 1`);
  const poisoned = rows[1]?.n;
  expect(poisoned).toBeGreaterThan(0);
  expect(rows).toEqual([
    { is_poisoned: false, n: 120 - poisoned, fetched: 120 - poisoned, due: 0 },
    { is_poisoned: true, n: poisoned, fetched: 0, due: 0 },
  ]);
  const refused = await ledger.pool.query(
    `select source, count(*)::int as n from ledger.rejects group by 1`,
  );
  expect(refused.rows).toEqual([{ source: 'transaction-detail', n: poisoned }]);
});
