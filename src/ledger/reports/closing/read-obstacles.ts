import type pg from 'pg';
import { text } from '../../connection/query-rows.ts';
import type { MonthDays } from '../books-sql.ts';

/** Each statement begins with this: days and moments of the month. */
const withMonth = `
  with month as (
    select d.first_day, d.last_day, d.first_day::timestamp at time zone 'UTC' as begins_at,
           (d.last_day + 1)::timestamp at time zone 'UTC' as ends_at
      from (select $1::date as first_day, $2::date as last_day) as d)`;
const begins = '(select begins_at from month)';
const ends = '(select ends_at from month)';
const firstDay = '(select first_day from month)';
const lastDay = '(select last_day from month)';
const isOfMonth = `coalesce(t.occurred_at, t.first_seen_at) >= ${begins} and coalesce(t.occurred_at, t.first_seen_at) < ${ends}`;
const namesMax = 5;

/** Reason of a reject where the service gave no time. Such a row belongs to the day on which it was first seen. */
const noTimeGiven = 'time is blank';

/** `3 transactions … (o-1, o-2, o-3)`; null where there are none. */
const counted = (one: string, many: string) =>
  `case count(*) when 0 then null when 1 then '1 ${one}' else count(*) || ' ${many}' end
     || ' (' || array_to_string((array_agg(x.name order by x.name))[1:${namesMax}], ', ')
     || case when count(*) > ${namesMax} then ', …' else '' end || ')'`;

/** One statement per kind of obstacle, each with a column of reasons. */
const selects = {
  order: `
  select case
           when exists (select from own.classification)
             then 'transactions are being judged by other final states: run \`wallet-ledger sync\`'
         end
  union all
  select 'the month before is open: close ' || to_char(max(c.month) + interval '1 month', 'YYYY-MM') || ' first'
             || case when max(c.month) + interval '2 months' < ${firstDay} then ', then those that follow it' else '' end
    from own.closed_months c where c.month < ${firstDay}
  having max(c.month) + interval '1 month' < ${firstDay}
  union all
  select 'the month after it is open: close ' || to_char(min(c.month) - interval '1 month', 'YYYY-MM') || ' first'
             || case when min(c.month) - interval '2 months' > ${firstDay} then ', then those before it' else '' end
    from own.closed_months c where c.month > ${firstDay}
  having min(c.month) - interval '1 month' > ${firstDay}`,
  lists: `
    select case
             when s.name is null then 'the list of ' || l.words || ' has never been read: run \`wallet-ledger backfill\`'
             when not s.is_complete then 'the list of ' || l.words || ' is not proven complete: ' || s.not_complete_because
             when s.last_success_at < ${ends} or s.last_success_at is null
               then 'the list of ' || l.words || ' has not been read since the month ended: run \`wallet-ledger sync\`'
           end
      from (values ('deposit', 'deposits'), ('withdraw', 'withdrawals')) as l (name, words)
      left join own.streams s on s.name = l.name`,
  days: `
    select 'days that the service has not been seen to list like this: ' || ${counted('day', 'days')}
             || '; \`wallet-ledger verify\` compares them now, and the audit does in time'
      from (select distinct c.day::text as name from own.coverage c
             where c.day between ${firstDay} and ${lastDay} and c.transactions > 0 and c.verified_at is null
               and c.stream in ('deposit', 'withdraw')) as x having count(*) > 0`,
  open: `
    select ${counted('transaction is not final yet', 'transactions are not final yet')}
             || '; WALLET_FINAL_STATES names the states that are final'
      from (select t.order_no as name from own.transactions t
             where not t.is_final and t.is_listed and t.stream in ('deposit', 'withdraw') and ${isOfMonth}) as x`,
  details: `
    select ${counted('transaction has no detail yet', 'transactions have no detail yet')} || ': run \`wallet-ledger sync details\`'
      from (select t.order_no as name from own.transactions t
             where t.is_final and t.is_listed and t.detail_synced_at is null and t.stream in ('deposit', 'withdraw')
               and ${isOfMonth}) as x`,
  unposted: `
    select ${counted('value is not known', 'values are not known')}
             || ': see the view ledger.unposted_values and \`wallet-ledger rejects\`'
      from (select u.missing || ' of ' || u.order_no as name
              from own.unposted_values u
              join own.transactions t on t.order_no = u.order_no and t.detail_synced_at is not null
             where u.booked_at >= ${begins} and u.booked_at < ${ends}) as x`,
  // The service may have changed a value to one that cannot be read.
  kept: `
    select ${counted('value could not be read when the service showed it last', 'values could not be read when the service showed them last')}
             || ', so the ledger keeps its own: see \`wallet-ledger rejects\`'
      from (select distinct k.field || ' of ' || t.order_no as name
              from own.rejects r
              join own.transactions t on t.order_no = r.order_no
             cross join lateral (values ('amount', 'amount', t.amount is not null), ('symbol', 'symbol', t.symbol is not null),
                                        ('fee', 'fee', t.fee is not null), ('feeSymbol', 'fee_symbol', t.fee_symbol is not null),
                                        ('state', 'state', t.state is not null), ('time', 'occurred_at', t.occurred_at is not null)
                                ) as k (name, field, is_held)
             where r.resolved_at is null and r.field = k.name and k.is_held and t.is_listed
               and t.stream in ('deposit', 'withdraw') and ${isOfMonth}) as x`,
  // A transaction lies before the ledger first sees it, in this month or in any earlier one.
  times: `
    select ${counted('transaction has a time that cannot be read', 'transactions have a time that cannot be read')}
             || ', which may lie in this month: see \`wallet-ledger rejects\`'
      from (select t.order_no as name from own.transactions t
             where t.occurred_at is null and t.first_seen_at >= ${begins} and t.is_listed
               and (t.is_success or not t.is_final) and t.stream in ('deposit', 'withdraw')
               and exists (select from own.rejects r
                            where r.order_no = t.order_no and r.resolved_at is null and r.field = 'time'
                              and r.reason <> '${noTimeGiven}')) as x`,
};

const notOverSelect = `
  select 'it has not ended yet: its last day is ' || m.last_day || ' (UTC)' from month m where now() < m.ends_at`;

/** Returns the reasons for which a month cannot be closed yet. */
export async function readObstacles(client: pg.Client, days: MonthDays): Promise<string[]> {
  const read = async (select: string): Promise<string[]> => {
    const { rows } = await client.query<unknown[]>({
      text: withMonth + select,
      values: [days.from, days.to],
      rowMode: 'array',
    });
    return rows.flatMap(([reason]) => (reason === null ? [] : [text(reason)]));
  };
  const notOver = await read(notOverSelect);
  if (notOver.length > 0) return notOver;
  const reasons: string[] = [];
  for (const select of Object.values(selects)) reasons.push(...(await read(select)));
  return reasons;
}
