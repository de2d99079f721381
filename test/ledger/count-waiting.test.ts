import { expect, test } from 'vitest';
import { readStatus } from '../../src/ledger/reports/read-status.ts';
import { countIncomplete } from '../../src/ledger/transactions/count-waiting.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();

/** Rows of each kind with and without a waiting detail, `of` of each. */
async function insertKinds(of: number): Promise<void> {
  await query(`
    insert into ledger.transactions (order_no, stream, state, is_final, is_success, is_listed, is_backfilled, detail_synced_at,
                                     occurred_at, first_seen_at, changed_at, observed_at, observation)
    select format('%s-%s', k.kind, n), 'deposit', k.state, k.is_final, k.is_final, k.is_listed, k.is_backfilled,
           case when k.has_detail then now() end, now() - n * interval '1 minute', now(), now(), now(), 1
      from (values ('history', 'success', true, true, true, false), ('done', 'success', true, true, true, true),
                   ('unlisted', 'success', true, false, true, false), ('news', 'success', true, true, false, false),
                   ('open', 'pending', false, true, false, false),
                   ('gone', 'pending', false, false, false, false), ('checked', 'pending', false, true, false, true))
             as k (kind, state, is_final, is_listed, is_backfilled, has_detail),
           generate_series(1, ${of}) as n`);
  await query(`
    insert into engine.detail_checks (order_no, is_final, turn, refusals)
    select order_no, is_final, 0, case when order_no like '%7' then 14 else 0 end from ledger.transactions
     where split_part(order_no, '-', 1) in ('news', 'open', 'gone', 'checked') or order_no like 'history-%9'
    on conflict do nothing`);
}

test.each([
  [20, 'rows that are few enough to be counted one by one'],
  [4_000, 'more of them, by the running totals'],
])(
  '%i rows of each kind: the count of rows that wait for a detail equals that of the view: %s',
  async (of) => {
    await query('truncate ledger.transactions, engine.detail_checks');
    await insertKinds(of);
    const [seen] = await query(`
    select count(*)::int as incomplete, count(*) filter (where is_final)::int as final,
           count(*) filter (where refusals >= 14 and order_no not like 'gone%')::int as refused from ledger.waiting_details`);
    expect(seen).toMatchObject({ incomplete: of * 5, final: of * 2 });
    expect(seen?.['refused']).toBe(of * 0.3);
    expect(await countIncomplete(ledger.db)).toEqual({
      incomplete: seen?.['incomplete'],
      finalIncomplete: seen?.['final'],
    });
    expect(await readStatus(ledger.db, [])).toMatchObject({
      transactions: {
        incomplete: seen?.['incomplete'],
        detailsToFetch: seen?.['final'],
        detailsRefused: seen?.['refused'],
      },
    });
  },
);
