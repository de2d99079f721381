import { sql } from 'drizzle-orm';
import { ownWallet } from '../own-tables.ts';

const historyMax = 30;
/** Upper bound of shown balances, because each brings its history. */
const balancesMax = 500;
/** Number of days that the calendar of a list shows one by one. */
const daysMax = 366;
const iso = sql.raw(`'YYYY-MM-DD"T"HH24:MI:SS"Z"'`);

/** Length limit of a text, above what is ever shown; texts of an old ledger can have any length. */
const textMax = 2_000;

/** Cuts a text of the ledger before it leaves the database. */
function bounded(column: string) {
  return sql.raw(`left(${column}, ${textMax})`);
}

/**
 * Returns an amount with the service's own digits. An old ledger can hold amounts whose digits would fill the memory.
 * Huge ones use scientific notation, and more than 1,000 decimals are rounded.
 */
export function amountText(column: string) {
  return sql.raw(`case when abs(${column}) >= 1e500 then btrim(to_char(${column}, '9.99999999999EEEE'))
                       when scale(${column}) > 1000 then round(${column}, 1000)::text else ${column}::text end`);
}

/** Formats a time as ISO 8601 in UTC, in any time zone of the session. */
export function isoText(time: string) {
  return sql`to_char(${sql.raw(time)} at time zone 'UTC', ${iso})`;
}

export const streams = sql`
  select coalesce(json_agg(s order by s.name not in ('deposit', 'withdraw'), s.name), '[]')
    from (select name, list_order as "listOrder", page_size as "pageSize", service_total as "serviceTotal",
                 ledger_count as "ledgerCount", is_complete as "isComplete",
                 trunc(extract(epoch from now() - last_success_at)) as "lagSeconds",
                 ${isoText('verified_through')} as "verifiedThrough", ${bounded('not_complete_because')} as "notCompleteBecause",
                 ${bounded('last_error')} as "lastError", final_changes as "finalChanges"
            from own.streams) as s`;

export const wallets = sql`
  select coalesce(json_agg(json_build_object('name', w.wallet, 'isResting', w.is_resting) order by w.wallet), '[]')
    from (select wallet, is_resting from ledger.wallets
          union all select ${ownWallet}, false
           where not exists (select from own.wallets)) as w`;

/** Problems of the ledger's wallet, and those of the whole database. */
export const problems = sql`
  select coalesce(json_agg(json_build_object('name', p.name, 'severity', p.severity, 'since', ${isoText('p.since')},
                                             'what', ${bounded('p.what')}, 'cure', ${bounded('p.cure')}, 'wallet', p.wallet)
                           order by p.severity, p.since, p.what), '[]')
    from ledger.problems as p where p.wallet in (${ownWallet}, '')`;

/**
 * Number of values that could not be decoded, as the problem rejects_open counts them: one that both the list and the
 * detail of a transaction show is two rejects.
 */
export const unreadableValues = sql`
  select count(distinct case when source like 'transaction-%' and order_no is not null
                             then order_no || ' ' || coalesce(field, '') else id::text end)::float8
    from own.rejects where resolved_at is null`;

/** Coverage of the lists, without the days that have no listed rows and so nothing to verify. */
export const coverage = sql`
  select coalesce(json_agg(c order by c.stream), '[]')
    from (select d.stream,
                 coalesce(json_agg(json_build_object('day', d.day, 'transactions', d.transactions,
                                                     'verifiedAt', ${isoText('d.verified_at')}) order by d.day)
                            filter (where not d.is_older), '[]') as days,
                 count(*) filter (where d.is_older) as "olderDays",
                 coalesce(sum(d.transactions) filter (where d.is_older), 0)::float8 as "olderTransactions",
                 count(*) filter (where d.is_older and d.verified_at is null) as "olderNeverVerified",
                 to_char(min(d.verified_at) filter (where d.is_older) at time zone 'UTC', ${iso}) as "olderVerifiedThrough"
            from (select stream, day, transactions, verified_at,
                         day <= (now() at time zone 'UTC')::date - ${daysMax}::integer as is_older
                    from own.coverage where transactions > 0) as d
           group by d.stream) as c`;

export const poolLevels = sql`
  select coalesce(json_object_agg(l.slip44, json_build_object('available', l.available,
                                                              'chain', (select ${bounded('max(coalesce(b.chain_name, b.chain_symbol))')} from own.balances b where b.slip44 = l.slip44), 'daysLeft', l.days_left,
                                                              'lastError', ${bounded('p.last_error')})), '{}')
    from own.pool_levels l left join own.pools p on p.slip44 = l.slip44`;

export const unexpectedDeposits = sql`
  select json_build_object('foreign', count(*) filter (where kind = 'foreign'),
                           'unknown', count(*) filter (where kind = 'unknown'))
    from own.unexpected_deposits`;

export const balances = sql`
  select coalesce(json_agg(b order by b.symbol, b.chain), '[]')
    from (select ${bounded('symbol')} as symbol, ${bounded('coalesce(chain_name, chain_symbol, slip44::text)')} as chain,
                 ${amountText('balance')} as balance, ${amountText('frozen')} as frozen,
                 (select coalesce(json_agg(c order by c.at), '[]')
                    from (select ${isoText('observed_at')} as at, ${amountText('h.balance')} as balance
                            from own.balance_changes h
                           where (h.slip44, h.symbol, h.contract_address)
                               = (l.slip44, l.symbol, l.contract_address)
                           order by observed_at desc limit ${historyMax}) as c) as history
            from own.balances l where is_listed
           order by symbol, chain limit ${balancesMax}) as b`;

export const balanceCount = sql`select count(*)::float8 from own.balances where is_listed`;

export const unexplainedDifferences = sql`
  select coalesce(json_agg(json_build_object('symbol', ${bounded('u.symbol')}, 'amount', ${amountText('u.amount')},
                                             'since', ${isoText('u.since')})
                           order by u.symbol, u.slip44 nulls first), '[]')
    from own.unexplained_differences as u`;

/** Each process gives all its connections a name of its own (`connectLedger`). */
export const processes = sql`
  select count(distinct application_name)::float8 from pg_stat_activity
   where datname = current_database() and application_name like 'wallet-ledger %'`;

/** Latest run of each job, from the relation `recent`. */
export const lastRuns = sql`
  select coalesce(json_agg(r order by r.job), '[]')
    from (select distinct on (job) job, ${isoText('started_at')} as "startedAt",
                 ${isoText('finished_at')} as "finishedAt", outcome, requests,
                 rows_seen as "rowsSeen", rows_inserted as "rowsInserted", rows_updated as "rowsUpdated", ${bounded('error')} as error
            from recent order by job, id desc) as r`;

/** Errors of the streams' latest passes, and of the jobs' latest failed runs in the relation `recent`. */
export const lastErrors = sql`
  select coalesce(json_agg(e.entry order by e.at desc), '[]')
    from (select last_error_at as at,
                 json_build_object('stream', name, 'at', ${isoText('last_error_at')}, 'message', ${bounded('last_error')}) as entry
            from own.streams where last_error is not null
          union all
          (select distinct on (job) finished_at,
                  json_build_object('job', job, 'at', ${isoText('finished_at')}, 'message', ${bounded('coalesce(error, outcome)')})
             from recent where outcome = 'failed' order by job, id desc)) as e`;
