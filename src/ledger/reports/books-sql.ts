import { sureDays } from './doubts-sql.ts';

/** UTC days as `2026-03-31`, both included; null leaves the end open. */
export type Period = { from: string | null; to: string | null };

/** First and last day of a month; not null, unlike those of a period. */
export type MonthDays = { from: string; to: string };

/** Effect of each listed transaction in a success state on the coins in custody, read without the view `postings`. */
const effects = `
  select coalesce(t.occurred_at, t.first_seen_at) as booked_at, t.stream, t.symbol, t.amount, t.fee_symbol,
         nullif(t.fee, 0) as fee
    from own.transactions t
   where t.stream in ('deposit', 'withdraw') and t.is_listed and t.is_success`;

/** The number of significant digits that each coin needs, and the number of its values. */
export const coinsSelect = `
  with flows as (
    select e.symbol, e.fee_symbol, count(*) as values,
           max(scale(e.amount)) as scale, sum(abs(e.amount)) as size,
           max(scale(e.fee)) as fee_scale, sum(abs(e.fee)) as fee_size
      from (${effects}) as e group by e.symbol, e.fee_symbol)
  select x.symbol, max(x.scale)::text, length(trunc(sum(x.size))::text)::text, sum(x.values)::text
    from (select f.symbol, f.scale, f.size, f.values from flows f where f.size is not null
          union all
          select f.fee_symbol, f.fee_scale, f.fee_size, f.values from flows f where f.fee_size is not null
          union all
          select c.symbol, max(scale(c.balance)), max(abs(c.balance)), 1
            from own.balance_changes c where c.balance <> 0 group by c.symbol) as x
   where x.symbol is not null
   group by x.symbol order by x.symbol collate "C"`;

/**
 * Compares the balance that the wallet reported at the end of each UTC day with the sum of the transactions up to then.
 * The sums are made from the transactions and not from the postings, so that a mistake in the postings contradicts
 * them. A balance is known from the first reading of the coin on.
 *
 * If the two never agree, the wallet held coins before the history began. `opening` is then the difference on the first
 * day that no open, unreadable or unlisted row may explain. While there is no such day, the opening is that of the last
 * closed month, if it has one; otherwise there is none, and `is_doubtful` is true.
 *
 * A difference below zero is not an opening, because a wallet cannot hold less than nothing. It means that money is
 * missing, which an opening would hide. If the two agreed in an earlier comparison, a transaction has changed since, so
 * there is no opening either.
 */
const dayEndRows = `
  with history_read as (
    select max(p.since) as at from (
      select min(observed_at) as since from own.stream_proofs
       where name in ('deposit', 'withdraw') and is_complete group by name) as p
    having count(*) = 2),
  agreed as (
    select r.symbol
      from (select symbol, reported, difference,
                   lead(observed_at, 1, 'infinity') over (partition by symbol order by id) as until
              from own.reconciliation_runs where slip44 is null) as r
      join history_read h on r.until > h.at
     where r.difference = 0 and r.reported <> 0),
  flows as (
    select (e.booked_at at time zone 'UTC')::date as day, e.stream, e.symbol, e.fee_symbol,
           sum(e.amount) as amount, sum(e.fee) as fee
      from (${effects}) as e group by 1, 2, 3, 4),
  moved as (
    select f.day, x.symbol, sum(x.amount) as amount
      from flows f
     cross join lateral (values (f.symbol, case f.stream when 'deposit' then f.amount else - f.amount end),
                                (f.fee_symbol, - f.fee)) as x (symbol, amount)
     where x.symbol is not null and x.amount is not null
     group by 1, 2),
  last_of_day as (
    select distinct on (c.slip44, c.symbol, c.contract_address, (c.observed_at at time zone 'UTC')::date)
           c.slip44, c.symbol, c.contract_address, (c.observed_at at time zone 'UTC')::date as day,
           coalesce(c.balance, 0) as balance
      from own.balance_changes c
     order by c.slip44, c.symbol, c.contract_address, (c.observed_at at time zone 'UTC')::date, c.observed_at desc, c.id desc),
  reported as (
    select l.day, l.symbol,
           l.balance - coalesce(lag(l.balance) over (partition by l.slip44, l.symbol, l.contract_address order by l.day), 0)
             as amount
      from last_of_day l),
  used as (
    select symbol from moved union select symbol from reported where amount <> 0),
  days as (
    select k.symbol, d::date as day
      from (select r.symbol, min(r.day) as known from reported r where r.symbol in (select symbol from used) group by 1) as k
     cross join generate_series(k.known, (now() at time zone 'UTC')::date, interval '1 day') as d),
  sums as (
    select x.symbol, x.day, bool_or(x.is_end) as is_end,
           sum(sum(x.moved)) over so_far as booked, sum(sum(x.reported)) over so_far as reported
      from (select m.symbol, m.day, m.amount as moved, 0 as reported, false as is_end from moved m
            union all select r.symbol, r.day, 0, r.amount, false from reported r
            union all select d.symbol, d.day, 0, 0, true from days d) as x
     group by x.symbol, x.day
    window so_far as (partition by x.symbol order by x.day)),
  ends as materialized (
    select s.symbol, s.day, s.booked, s.reported, bool_or(s.booked = s.reported) over (partition by s.symbol) as agrees_once
      from sums s where s.is_end),
  unexplained as materialized (
    select e.symbol, e.day, e.reported - e.booked as difference
      from ends e where not e.agrees_once and e.symbol not in (select symbol from agreed)),
  ${sureDays},
  closed as (
    select k.cells[1] as symbol, k.cells[2]::numeric as amount from own.closed_books k
     where k.part = 'openings' and k.month = (select max(c.month) from own.closed_months c)),
  openings as (
    select u.symbol, s.sure_from is null and coalesce(c.amount, 0) <= 0 as is_doubtful,
           greatest(case when s.sure_from is null then c.amount else u.difference end, 0) as amount
      from unexplained u
      left join sure s on s.symbol = u.symbol
      left join closed c on c.symbol = u.symbol
     where u.day = coalesce(s.sure_from, (now() at time zone 'UTC')::date))
  select e.symbol, e.day, e.booked, e.reported, coalesce(o.amount, 0) as opening,
         coalesce(o.is_doubtful, false) as is_doubtful
    from ends e left join openings o on o.symbol = e.symbol`;

export const openingsSelect = `
  select distinct d.symbol, trim_scale(d.opening)::text from (${dayEndRows}) as d where d.opening <> 0 order by 1`;

/** Coins whose opening is not known yet, with the latest balance and the sum of the transactions. */
export const doubtsSelect = `
  select d.symbol, d.reported::text, d.booked::text
    from (select distinct on (e.symbol) e.* from (${dayEndRows}) as e order by e.symbol, e.day desc) as d
   where d.is_doubtful order by d.symbol collate "C"`;

/** Parameters of the selects of a period: its first and its last UTC day. */
export function daysOf({ from, to }: Period): [string, string] {
  return [from ?? '-infinity', to ?? 'infinity'];
}

const firstMoment = `($1::date)::timestamp at time zone 'UTC'`;
const isBooked = `p.booked_at >= ${firstMoment} and p.booked_at < ($2::date + 1)::timestamp at time zone 'UTC'`;

export const dayEndsSelect = `
  select d.day::text, d.symbol, d.reported::text, (d.booked + d.opening)::text,
         (d.booked + d.opening = d.reported)::text
    from (${dayEndRows}) as d
   where d.day between $1::date and $2::date
   order by d.day, d.symbol collate "C"`;

/** Number of transactions of each UTC day of the period; the running totals have those that have a time. */
export const dayCountsSelect = `
  select x.day::text, sum(x.count)::text
    from (select t.day, t.transactions as count from own.daily_totals t
           where t.stream in ('deposit', 'withdraw') and t.is_success and t.day between $1::date and $2::date
          union all
          select (t.first_seen_at at time zone 'UTC')::date, 1 from own.transactions t
           where t.stream in ('deposit', 'withdraw') and t.is_listed and t.is_success and t.occurred_at is null
             and t.first_seen_at >= ${firstMoment} and t.first_seen_at < ($2::date + 1)::timestamp at time zone 'UTC') as x
   group by x.day order by x.day`;

/** The postings of the period in the order of time, those of an order side by side. */
export const postingsSelect = `
  select p.order_no, p.posting_no::text, p.booked_at::text, p.account, p.symbol, p.amount::text, p.stream, p.tx_hash
    from own.postings p
   where ${isBooked}
   order by p.booked_at, p.order_no collate "C", p.posting_no`;

/** The sums of all accounts before a UTC day: what a period starts from. Per coin they add up to 0. */
export const carriedSelect = `
  select p.symbol, p.account, sum(p.amount)::text
    from own.postings p where p.booked_at < ${firstMoment}
   group by p.symbol, p.account having sum(p.amount) <> 0
   order by p.symbol collate "C", p.account collate "C"`;

/** First UTC day on which a balance was read, and the number of values that the books of the period lack. */
export const outlineSelect = `
  select (select (min(c.observed_at) at time zone 'UTC')::date from own.balance_changes c)::text,
         (select count(*) from own.unposted_values p where ${isBooked})::text`;

/** Roles and names of the chart; a role without a row is named by the role itself, as in the view. */
export const chartSelect = `
  select r.role, coalesce(a.name, r.role) as name
    from (values ('custody'), ('customers'), ('withdrawn'), ('fees')) as r (role)
    left join ledger.accounts a on a.role = r.role`;

/** All accounts that postings may name: those of the chart, and one for each customer. */
export const accountsSelect = `
  with chart as (${chartSelect})
  select c.name collate "C" as account from chart c
  union
  select c.name || ':' || h.assigned_to from chart c, own.addresses h
   where c.role = 'customers' and h.assigned_to is not null
   order by 1`;
