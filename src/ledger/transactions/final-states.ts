import { sql } from 'drizzle-orm';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';

/**
 * Classifies rows by the configured final states (lower case; `success` is a subset of `final`). If the states differ
 * from the last ones, it classifies the stored rows again. A row that is no longer final is due at once. A row that
 * became final is due only if its detail is missing or older than its last change. Returns the number of changed rows.
 */
export async function reclassifyByStates(
  ledger: Ledger,
  states: { final: ReadonlySet<string>; success: ReadonlySet<string> },
): Promise<number> {
  const final = [...states.final];
  const wanted = sql`select state, state = any(${sql.param([...states.success])}::text[]) as is_success
    from unnest(${sql.param(final)}::text[]) as s (state)`;
  const isSame = async (db: LedgerDb) => {
    const same = await db.execute<{ same: boolean }>(sql`
      select not exists ((${wanted}) except select state, is_success from ledger.final_states)
         and not exists (select state, is_success from ledger.final_states except (${wanted})) as same`);
    return same.rows[0]?.same ?? false;
  };
  if (await isSame(ledger.db)) return 0;
  return await ledger.transaction(async (db) => {
    await db.execute(sql`lock table ledger.final_states in share row exclusive mode`);
    // Checks again: another process that started at the same time may have made the change meanwhile.
    if (await isSame(db)) return 0;
    await db.execute(sql`delete from ledger.final_states`);
    await db.execute(sql`insert into ledger.final_states (state, is_success) ${wanted}`);
    // Recounts the use of addresses, because the states decide which deposits count.
    await db.execute(sql`select engine.recount_all_use()`);
    // Locks rows in key order, as every batch does.
    const turned = await db.execute(sql`
      with turned as (
        select order_no from ledger.transactions t
         where is_final <> exists (select from ledger.final_states f where f.state = lower(btrim(t.state)))
         order by order_no for update)
      update ledger.transactions t
         set is_final = not t.is_final,
             next_check_at = case when not t.is_final and t.detail_synced_at >= t.changed_at then null else now() end
        from turned
       where t.order_no = turned.order_no`);
    return turned.rowCount ?? 0;
  });
}
