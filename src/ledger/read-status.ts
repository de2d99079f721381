import { sql } from 'drizzle-orm';
import { databaseError, type LedgerDb } from './connect-ledger.ts';

/** When a chain's pool is refilled, and up to where (ADDRESS_POOLS). */
export type PoolTarget = { slip44: number; threshold: number; target: number };

export type StreamStatus = {
  name: string;
  listOrder: string | null;
  pageSize: number | null;
  /** What the service last counted; null before the first answer. */
  serviceTotal: number | null;
  ledgerCount: number;
  /** The proof: the counts are equal and a complete walk stands behind them. */
  isComplete: boolean;
  /** Whole seconds since a pass last ended well; null when none ever did. */
  lagSeconds: number | null;
  /** Of the latest pass; null when it ended well. */
  lastError: string | null;
  /** How often a row left a state that the settings take as final. */
  finalChanges: number;
};

/** `daysLeft`: at the pace of the last 7 days; null when no address was handed out. `lastError`: of filling it. */
export type PoolStatus = PoolTarget & {
  available: number;
  daysLeft: number | null;
  lastError: string | null;
};

/**
 * Deposits of the last 7 days to addresses that were neither generated nor handed out by this program: `foreign` ones
 * of the service's lists, and such that no list read so far has.
 */
export type UnexpectedDeposits = { foreign: number; unknown: number };

/** `balance` and `frozen` with the service's own digits; `history`: up to 30 latest changes, oldest first. */
export type BalanceStatus = {
  symbol: string;
  chain: string;
  balance: string | null;
  frozen: string | null;
  history: { at: string; balance: string | null }[];
};

/** Balances that the transactions do not add up to, and nothing known explains it; `amount`: reported less expected. */
export type UnexplainedDifference = { symbol: string; amount: string; since: string };

type RunStatus = {
  job: string;
  startedAt: string;
  finishedAt: string;
  outcome: string;
  requests: number;
  rowsSeen: number;
  rowsInserted: number;
  rowsUpdated: number;
  error: string | null;
};

/** Of a stream: the error of its latest pass. Of a job: its latest failed run. */
type ErrorStatus = { at: string; message: string } & ({ stream: string } | { job: string });

/** What the ledger knows of itself at one moment. Times are ISO 8601, UTC. */
export type LedgerStatus = {
  readAt: string;
  streams: StreamStatus[];
  /** `incomplete`: the detail is still to be fetched, or to be fetched again since the row is not final. */
  transactions: { total: number; incomplete: number; final: number };
  /** Open ones. */
  rejects: number;
  /** One per configured pool, in the order of the setting. */
  pools: PoolStatus[];
  unexpectedDeposits: UnexpectedDeposits;
  balances: BalanceStatus[];
  unexplainedDifferences: UnexplainedDifference[];
  /** The latest run of each job. */
  lastRuns: RunStatus[];
  /** The latest first. */
  lastErrors: ErrorStatus[];
};

/** So many of the latest runs are looked at: hours of them, read in milliseconds. */
const runsMax = 10_000;
const historyMax = 30;
const iso = sql.raw(`'YYYY-MM-DD"T"HH24:MI:SS"Z"'`);

/**
 * Everything behind `status`, from one statement, so that all counts are of the same moment. Throws LedgerError
 * `database-unreachable`, or `unexpected` before the schema is there.
 */
export async function readStatus(
  db: LedgerDb,
  pools: readonly PoolTarget[],
): Promise<LedgerStatus> {
  const read = await db
    .execute<StatusRow>(sql`
with recent as materialized (
  select id, job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error
    from ledger.sync_runs order by id desc limit ${runsMax}
)
select to_char(now() at time zone 'UTC', ${iso}) as "readAt",
       (${streams}) as streams,
       -- The streams count what is listed, so that no status walks over the whole history.
       ((select coalesce(sum(ledger_count), 0) from ledger.streams where name in ('deposit', 'withdraw'))
         + (select count(*) from ledger.transactions where not is_listed))::float8 as total,
       unfinished.incomplete,
       unfinished.not_final as "notFinal",
       (select count(*)::float8 from ledger.rejects where resolved_at is null) as rejects,
       (${poolLevels}) as levels,
       (${unexpectedDeposits}) as "unexpectedDeposits",
       (${balances}) as balances,
       (${unexplainedDifferences}) as "unexplainedDifferences",
       (${lastRuns}) as "lastRuns",
       (${lastErrors}) as "lastErrors"
  from (
    -- A row that is not final always has a next check, so the index of those finds them all.
    select count(*)::float8 as incomplete, (count(*) filter (where not is_final))::float8 as not_final
      from ledger.transactions where next_check_at is not null
  ) as unfinished`)
    .catch((error) => {
      throw databaseError(error);
    });
  const row = read.rows[0];
  if (!row) throw new Error('the status query returned no row');
  return rowToStatus(row, pools);
}

type StatusRow = Omit<LedgerStatus, 'transactions' | 'pools'> & {
  total: number;
  incomplete: number;
  notFinal: number;
  levels: Record<string, Pick<PoolStatus, 'available' | 'daysLeft' | 'lastError'>>;
};

function rowToStatus(row: StatusRow, pools: readonly PoolTarget[]): LedgerStatus {
  const { total, incomplete, notFinal, levels, ...rest } = row;
  return {
    ...rest,
    transactions: { total, incomplete, final: total - notFinal },
    pools: pools.map(({ slip44, threshold, target }) => ({
      slip44,
      available: levels[slip44]?.available ?? 0,
      threshold,
      target,
      daysLeft: levels[slip44]?.daysLeft ?? null,
      lastError: levels[slip44]?.lastError ?? null,
    })),
  };
}

const streams = sql`
  select coalesce(json_agg(s order by s.name not in ('deposit', 'withdraw'), s.name), '[]')
    from (select name, list_order as "listOrder", page_size as "pageSize", service_total as "serviceTotal",
                 ledger_count as "ledgerCount", is_complete as "isComplete",
                 trunc(extract(epoch from now() - last_success_at)) as "lagSeconds",
                 last_error as "lastError", final_changes as "finalChanges"
            from ledger.streams) as s`;

const poolLevels = sql`
  select coalesce(json_object_agg(l.slip44, json_build_object('available', l.available, 'daysLeft', l.days_left,
                                                              'lastError', p.last_error)), '{}')
    from ledger.pool_levels l left join ledger.pools p on p.slip44 = l.slip44`;

const unexpectedDeposits = sql`
  select json_build_object('foreign', coalesce(sum(d.deposits) filter (where k.is_foreign), 0),
                           'unknown', coalesce(sum(d.deposits) filter (where k.is_foreign is null), 0))
    from (select lower(to_address) as address, count(*) as deposits
            from ledger.transactions
           where stream = 'deposit' and is_listed and to_address is not null
             and occurred_at > now() - interval '7 days'
           group by lower(to_address)) as d
   cross join lateral (
     select bool_and(a.status = 'foreign'
                  or a.status = 'used' and a.generated_by is null and a.assigned_at is null) as is_foreign
       from ledger.addresses a where lower(a.address) = d.address) as k`;

const balances = sql`
  select coalesce(json_agg(b order by b.symbol, b.chain), '[]')
    from (select symbol, coalesce(chain_name, chain_symbol, slip44::text) as chain, balance::text, frozen::text,
                 (select coalesce(json_agg(c order by c.at), '[]')
                    from (select to_char(observed_at at time zone 'UTC', ${iso}) as at, h.balance::text
                            from ledger.balance_changes h
                           where (h.slip44, h.symbol, h.contract_address)
                               = (l.slip44, l.symbol, l.contract_address)
                           order by observed_at desc limit ${historyMax}) as c) as history
            from ledger.balances l where is_listed) as b`;

const unexplainedDifferences = sql`
  select coalesce(json_agg(json_build_object('symbol', u.symbol, 'amount', u.amount::text,
                                             'since', to_char(u.since at time zone 'UTC', ${iso}))
                           order by u.symbol, u.slip44 nulls first), '[]')
    from ledger.unexplained_differences as u`;

const lastRuns = sql`
  select coalesce(json_agg(r order by r.job), '[]')
    from (select distinct on (job) job, to_char(started_at at time zone 'UTC', ${iso}) as "startedAt",
                 to_char(finished_at at time zone 'UTC', ${iso}) as "finishedAt", outcome, requests,
                 rows_seen as "rowsSeen", rows_inserted as "rowsInserted", rows_updated as "rowsUpdated", error
            from recent order by job, id desc) as r`;

const lastErrors = sql`
  select coalesce(json_agg(e.entry order by e.at desc), '[]')
    from (select last_error_at as at,
                 json_build_object('stream', name, 'at', to_char(last_error_at at time zone 'UTC', ${iso}),
                                   'message', last_error) as entry
            from ledger.streams where last_error is not null
          union all
          (select distinct on (job) finished_at,
                  json_build_object('job', job, 'at', to_char(finished_at at time zone 'UTC', ${iso}),
                                    'message', coalesce(error, outcome))
             from recent where outcome = 'failed' order by job, id desc)) as e`;
