/** A query of the tables that the recipe does not use alike, and one over the recipe's answer that must say the same. */
export type RecipeCheck = { wanted: string; found: string };

const month = `date_trunc('month', now(), 'UTC')`;
const since = (days: number) =>
  `((now() at time zone 'UTC') - interval '${days} days') at time zone 'UTC'`;

/** Checks of the recipes about the ledger itself, what is open, and what was known when. */
export const ledgerChecks: Record<string, RecipeCheck> = {
  'When was nobody looking?': {
    wanted: `select lower(g) as since, upper(g) as until
      from (select range_agg(tstzrange(r.started_at, r.finished_at, '[]')) as seen, min(r.started_at) as first_at
              from ledger.sync_runs r where r.job = 'transactions' and r.outcome in ('done', 'incomplete')
               and r.finished_at >= ${since(30)}) as x
     cross join lateral unnest(tstzmultirange(tstzrange(x.first_at, now())) - x.seen) as g
     where upper(g) - lower(g) > interval '15 minutes'`,
    found: `select since, until from recipe where gap = until - since`,
  },
  'What is new since the last extraction?': {
    wanted: `select t.order_no, t.state from ledger.transactions t
      where extract(epoch from t.changed_at) >= extract(epoch from now()) - 86400`,
    found: `select order_no, state from recipe`,
  },
  'Which coins moved while they were disabled?': {
    wanted: `select t.order_no from ledger.transactions t
      where t.symbol = 'LTC' and t.stream = 'withdraw' and t.is_listed and t.occurred_at >= ${since(30)}`,
    found: `select order_no from recipe`,
  },
  'Which transactions share a hash?': {
    wanted: `select a.order_no from ledger.transactions a
      where a.is_listed and a.stream in ('deposit', 'withdraw') and a.occurred_at >= ${since(90)}
        and exists (select from ledger.transactions b
                     where b.order_no <> a.order_no and b.is_listed and b.occurred_at >= ${since(90)}
                       and (b.tx_hash, b.stream, b.symbol) = (a.tx_hash, a.stream, a.symbol)
                       and b.to_address is not distinct from a.to_address)`,
    found: `select unnest(order_nos) as order_no from recipe`,
  },
  'How old are the open withdrawals?': {
    wanted: `select t.symbol, x.bucket, count(*)::integer as n, trim_scale(sum(t.amount)) as amount
      from ledger.transactions t
     cross join lateral (select (array['up to 1 hour', '1 to 6 hours', '6 to 24 hours', '1 to 7 days', 'over 7 days'])[1 +
       width_bucket(extract(epoch from now() - coalesce(t.occurred_at, t.first_seen_at)), array[3600, 21600, 86400, 604800])] as bucket) as x
      where t.stream = 'withdraw' and t.is_listed and not t.is_final group by 1, 2`,
    found: `select symbol, bucket, withdrawals::integer as n, trim_scale(amount) as amount from recipe`,
  },
  'How long does it take until it is final, on each chain?': {
    wanted: `select t.stream, count(*)::integer as n from ledger.transactions t
      where exists (select from ledger.transaction_changes c
                     where c.order_no = t.order_no and c.field = 'state' and c.observed_at >= ${since(30)}
                       and lower(btrim(c.new_value)) in (select f.state from ledger.final_states f)) group by 1`,
    found: `select stream, sum(transactions)::integer as n from recipe where middle <= slowest_twentieth group by 1`,
  },
  'Where does the running balance leave the reported one?': {
    wanted: `select d.day::date::text as day, x.symbol, trim_scale(sum(x.amount)) as running
      from generate_series((now() at time zone 'UTC')::date - 14, (now() at time zone 'UTC')::date - 1, interval '1 day') as d (day)
      join ledger.transactions t on t.is_success and t.is_listed
       and coalesce(t.occurred_at, t.first_seen_at) at time zone 'UTC' < d.day::date + 1
     cross join lateral (values (t.symbol, case t.stream when 'deposit' then t.amount else - t.amount end),
                                (t.fee_symbol, - t.fee)) as x (symbol, amount)
      group by 1, 2 having sum(x.amount) <> 0`,
    found: `select day::text, symbol, trim_scale(running) as running from recipe
      where running <> 0 and difference = reported - running`,
  },
  'Was the ledger complete at the close?': {
    wanted: `select s.name, s.is_complete as was_complete, s.service_total from ledger.stream_proofs s
      where s.name in ('deposit', 'withdraw') and s.observed_at < ${month}
        and not exists (select from ledger.stream_proofs n
                         where n.name = s.name and n.id > s.id and n.observed_at < ${month})`,
    found: `select name, was_complete, service_total from recipe`,
  },
  'What came after a month was closed?': {
    wanted: `select to_char(e.month, 'YYYY-MM') as month, e.symbol, trim_scale(sum(e.amount_change)) as amount
      from ledger.late_entries e where e.month in (select month from ledger.closed_months) group by 1, 2`,
    found: `select to_char(month, 'YYYY-MM') as month, symbol, trim_scale(amount_change) as amount from recipe`,
  },
};
