import {
  accountsSelect,
  carriedSelect,
  chartSelect,
  coinsSelect,
  dayEndsSelect,
  doubtsSelect,
  openingsSelect,
  postingsSelect,
} from './books-sql.ts';

/** The parts of a month's books: the export's select, the number of its columns and of its parameters (days). */
const parts = {
  chart: { select: chartSelect, cells: 2, days: 0 },
  coins: { select: coinsSelect, cells: 4, days: 0 },
  accounts: { select: accountsSelect, cells: 1, days: 0 },
  openings: { select: openingsSelect, cells: 2, days: 0 },
  doubts: { select: doubtsSelect, cells: 3, days: 0 },
  carried: { select: carriedSelect, cells: 3, days: 1 },
  postings: { select: postingsSelect, cells: 8, days: 2 },
  day_ends: { select: dayEndsSelect, cells: 5, days: 2 },
} as const;

/** Statements that keep the books of a month. `days`: parameters, of the month's first and last day. */
export const keepStatements = Object.entries(parts).map(([part, { select, cells, days }]) => {
  const columns = Array.from({ length: cells }, (_, index) => `c${index + 1}`).join(', ');
  return {
    days: Math.max(days, 1),
    text: `
      insert into own.closed_books (month, part, no, cells)
      select $1::date, '${part}', row_number() over (), array[${columns}] from (${select}) as x (${columns})`,
  };
});

const cellsOf = (part: keyof typeof parts) =>
  Array.from({ length: parts[part].cells }, (_, index) => `k.cells[${index + 1}]`).join(', ');

export const keptChartSelect = `
  select k.month::text, k.cells[1], k.cells[2]
    from own.closed_books k where k.part = 'chart' and k.month = any ($1::date[]) order by k.month, k.no`;

export const keptCoinsSelect = `
  select k.cells[1], max(k.cells[2]::integer)::text, max(k.cells[3]::integer)::text, max(k.cells[4]::bigint)::text
    from own.closed_books k where k.part = 'coins' and k.month = any ($1::date[])
   group by k.cells[1] order by k.cells[1] collate "C"`;

/** $2: the account of openings; a journal of the first month declares it if that month has one. */
export const keptAccountsSelect = `
  select k.cells[1] collate "C" as account
    from own.closed_books k where k.part = 'accounts' and k.month = any ($1::date[])
  union
  select $2::text collate "C" from own.closed_books k
   where k.part = 'openings' and k.month = any ($1::date[])
  having min(k.month) > (select min(m) from unnest($1::date[]) as m)
   order by 1`;

export const keptOpeningsSelect = `
  select ${cellsOf('openings')}
    from own.closed_books k where k.part = 'openings' and k.month = $1::date order by k.no`;

export const keptDoubtsSelect = `
  select ${cellsOf('doubts')}
    from own.closed_books k where k.part = 'doubts' and k.month = $1::date order by k.no`;

/** Coins whose opening was not known yet when month `c` was closed. */
export const coinsWithoutOpening = `
  array(select k.cells[1] from own.closed_books k where k.month = c.month and k.part = 'doubts' order by k.no)`;

/** Number of balances that the kept books of month `c` do not assert, because the transactions contradict them. */
export const differingBalances = `
  (select count(*)::integer from own.closed_books k
    where k.month = c.month and k.part = 'day_ends' and k.cells[5] = 'false')`;

/** Coins of which the kept books of month `c` have an opening below zero, as an earlier version booked it. */
export const negativeOpenings = `
  array(select k.cells[1] from own.closed_books k
         where k.month = c.month and k.part = 'openings' and k.cells[2] like '-%' order by k.no)`;

const dayOfPosting = `(k.cells[3]::timestamptz at time zone 'UTC')::date`;

/** Selects what the first month ($1) carried forward, with its postings before the period begins ($2) added. */
export const keptCarriedSelect = `
  select s.symbol, s.account, case when s.rows > 1 then s.amount::text else s.kept end
    from (select x.symbol, x.account, count(*) as rows, sum(x.amount::numeric) as amount, min(x.amount) as kept
            from (select k.no, k.cells[1] as symbol, k.cells[2] as account, k.cells[3] as amount
                    from own.closed_books k where k.part = 'carried' and k.month = $1::date
                  union all
                  select k.no, k.cells[5], k.cells[4], k.cells[6]
                    from own.closed_books k
                   where k.part = 'postings' and k.month = $1::date and ${dayOfPosting} < $2::date) as x
           group by x.symbol, x.account) as s
   where s.amount <> 0
   order by s.symbol collate "C", s.account collate "C"`;

export const keptPostingsSelect = `
  select ${cellsOf('postings')}
    from own.closed_books k
   where k.part = 'postings' and k.month = any ($1::date[]) and ${dayOfPosting} between $2::date and $3::date
   order by k.month, k.no`;

export const keptDayEndsSelect = `
  select ${cellsOf('day_ends')}
    from own.closed_books k
   where k.part = 'day_ends' and k.month = any ($1::date[]) and k.cells[1]::date between $2::date and $3::date
   order by k.month, k.no`;

/**
 * Selects, for each month after the first, how its start differs from the end of the month before: by rows that came or
 * changed after that month was closed, and by accounts renamed since.
 */
export const keptCorrectionsSelect = `
  with kept as (
    select k.month, k.part, k.cells from own.closed_books k
     where k.month = any ($1::date[]) and k.part in ('chart', 'carried', 'openings', 'postings')),
  bounds as (
    select min(m) as first_month, max(m) as last_month from unnest($1::date[]) as m),
  starts as (
    select k.month, k.cells[1] as symbol, k.cells[2] as account, k.cells[3]::numeric as amount
      from kept k where k.part = 'carried'
    union all
    select o.month, o.cells[1], s.account, s.sign * o.cells[2]::numeric
      from kept o
      join kept c on c.month = o.month and c.part = 'chart' and c.cells[1] = 'custody'
     cross join lateral (values (c.cells[2], 1), ($2::text, -1)) as s (account, sign)
     where o.part = 'openings'),
  ends as (
    select s.month, s.symbol, s.account, s.amount from starts s
    union all
    select p.month, p.cells[5], p.cells[4], p.cells[6]::numeric from kept p where p.part = 'postings'),
  sides as (
    select s.month, s.symbol, s.account, s.amount from starts s, bounds b where s.month > b.first_month
    union all
    select (e.month + interval '1 month')::date, e.symbol, e.account, - e.amount
      from ends e, bounds b where e.month < b.last_month)
  select x.month::text, x.symbol, x.account, sum(x.amount)::text
    from sides x
   group by x.month, x.symbol, x.account having sum(x.amount) <> 0
   order by x.month, x.symbol collate "C", x.account collate "C"`;
