const firstMomentOf = (day: string) => `(${day})::timestamp at time zone 'UTC'`;

/** Moment from which a row may be in a balance. */
const beganAt = 'coalesce(t.occurred_at, t.first_seen_at)';

/** Common table expression: when the latest balances were read. */
const balancesRead = `
  balances_read as materialized (
    select greatest((select s.started_at from own.sync_runs s
                      where s.job = 'balances' and s.outcome in ('done', 'incomplete') order by s.id desc limit 1),
                    (select max(b.observed_at) from own.balances b)) as at)`;

/** Selects the rows whose effect on a balance is not known now: open, with an unknown value, or no longer listed. */
const openRows = `
  select t.symbol, t.fee_symbol, t.stream, ${beganAt} as since, 'infinity'::timestamptz as until
    from own.transactions t
   where t.stream in ('deposit', 'withdraw') and not t.is_final
  union all
  select t.symbol, t.fee_symbol, t.stream, ${beganAt}, 'infinity'
    from own.transactions t
   where t.stream in ('deposit', 'withdraw') and t.is_success and not t.is_listed
  union all
  select u.symbol, null, u.stream, u.booked_at, 'infinity' from own.unposted_values u
  union all
  select coalesce(t.symbol, substring(r.payload from '"symbol"\\s*:\\s*"([^"\\\\]+)"')),
         coalesce(t.fee_symbol, substring(r.payload from '"feeSymbol"\\s*:\\s*"([^"\\\\]+)"')), t.stream,
         coalesce(t.occurred_at, t.first_seen_at, r.first_seen_at), 'infinity'
    from own.rejects r
    left join own.transactions t on t.order_no = r.order_no
   where r.resolved_at is null and r.source in ('transaction-list', 'transaction-detail', 'balance-list')
     and (r.field is null or r.field in ('orderNo', 'symbol', 'amount', 'state', 'fee', 'feeSymbol', 'slip44',
                                         'contractAddress', 'balance'))`;

/** Selects the rows that changed after a comparison could see them. */
const changedRows = `
  select t.symbol, t.fee_symbol, t.stream, ${beganAt}, c.observed_at
    from own.transaction_changes c
    join own.transactions t on t.order_no = c.order_no
   where c.field in ('state', 'amount', 'symbol') and t.is_final and t.stream in ('deposit', 'withdraw')
     and c.observed_at > least(${firstMomentOf(`(${beganAt} at time zone 'UTC')::date + 1`)}, (select b.at from balances_read b))`;

const isInDoubt = `d.since <= e.day and d.until > least(${firstMomentOf('e.day + 1')}, (select b.at from balances_read b))`;

/**
 * Common table expressions that find the first day (`sure_from`) of each coin of `unexplained` on which the balance can
 * be compared with the transactions. A row is in doubt from its own day until it is known, because the balance may or
 * may not contain it. Its fee is paid in a coin that may not be known yet: the main coin of any of its chains. A row
 * that names no coin, and a list that was not read to its end, put all coins in doubt.
 */
export const sureDays = `
  ${balancesRead},
  in_doubt as (
    select x.symbol, x.fee_symbol, x.stream, (x.since at time zone 'UTC')::date as since, max(x.until) as until
      from (${openRows} union all ${changedRows}) as x
     where exists (select from unexplained) group by 1, 2, 3, 4),
  doubts as materialized (
    select y.symbol, d.since, max(d.until) as until
      from in_doubt d
     cross join lateral (
       select d.symbol union select d.fee_symbol where d.fee_symbol is not null
       union select h.symbol from own.assets a join own.assets h on h.slip44 = a.slip44 and h.contract_address = ''
              where d.stream = 'withdraw' and d.fee_symbol is null and a.symbol = d.symbol) as y (symbol)
     group by 1, 2
    union all
    select null, '-infinity', 'infinity' from (values ('deposit'), ('withdraw')) as l (name)
     where not exists (select from own.streams s where s.name = l.name and s.is_backed)),
  sure as (
    select e.symbol, min(e.day) as sure_from
      from unexplained e
     where not exists (select from doubts d where d.symbol = e.symbol and ${isInDoubt})
       and not exists (select from doubts d where d.symbol is null and ${isInDoubt})
     group by e.symbol)`;
