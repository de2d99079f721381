import { sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import {
  number,
  orNull,
  out,
  pick,
  query,
  type RowNamedBy,
  text,
} from '../../connection/query-rows.ts';
import { addressRequests } from '../../own-tables.ts';
import { type LogPage, logPageOf, pageLimit } from './log-page.ts';

/** The pool of a chain now. `threshold` and `target` are null for a chain without a setting. */
export type PoolRow = RowNamedBy<typeof poolColumns>;

/** Numbers of addresses that a pool received and handed out between two times (ms since 1970). */
export type PoolStep = { from: number; to: number; generated: number; handedOut: number };

/** A request for new addresses. */
export type RequestRow = RowNamedBy<typeof requestColumns>;

/** Length of a step in hours, and the number of days that are shown. */
export type PoolPeriod = { days: number; stepHours: number };

const poolsMax = 50;
/** Upper bound of the requests that are read for the levels; at a request a minute that is two weeks of one chain. */
const requestsMax = 20_000;
const errorMax = 2_000;

const poolColumns = pick({
  slip44: [sql`l.slip44`, number],
  available: [sql`l.available`, number],
  threshold: [sql`l.threshold`, orNull(number)],
  target: [sql`l.target`, orNull(number)],
  daysLeft: [sql`l.days_left`, orNull(number)],
});

/** Reads the pools of the settings, and every other chain that has addresses. */
export async function readPools(db: LedgerDb): Promise<PoolRow[]> {
  return await query(db)`
    select ${poolColumns} from own.pool_levels l
     order by l.target is null, l.slip44 limit ${sql.raw(String(poolsMax))}`;
}

/**
 * Reads what came into the pool of a chain and left it, in steps of equal length up to now, oldest first. Steps without
 * either are there too.
 */
export async function readPoolSteps(
  db: LedgerDb,
  slip44: number,
  { days, stepHours }: PoolPeriod,
): Promise<PoolStep[]> {
  // Words instead of parameters, so that the planner sees how few days the query reads.
  const step = sql.raw(`interval '${stepHours} hours'`);
  const since = sql.raw(
    `((date_trunc('day', now() at time zone 'UTC') - interval '${days - 1} days') at time zone 'UTC')`,
  );
  // A step's hand-outs are a range of an index; grouping all of them by step takes twice as long.
  return await query(db)`
    with came as (
      select date_bin(${step}, r.finished_at, timestamptz '2000-01-01 00:00:00+00') as at, sum(r.received) as addresses
        from (select * from own.address_requests order by id desc limit ${sql.raw(String(requestsMax))}) as r
       where r.slip44 = ${slip44}::integer and r.state = 'done' and r.finished_at >= ${since} group by 1
    )
    select (extract(epoch from s.at) * 1000)::bigint as ${out('from', number)},
           (extract(epoch from least(s.at + ${step}, now())) * 1000)::bigint as ${out('to', number)},
           coalesce(c.addresses, 0) as ${out('generated', number)},
           (select count(*) from own.addresses a
             where a.slip44 = ${slip44}::integer and a.assigned_at >= s.at and a.assigned_at < s.at + ${step}) as ${out('handedOut', number)}
      from generate_series(${since}, now(), ${step}) as s (at) left join came c on c.at = s.at order by s.at`;
}

const r = alias(addressRequests, 'r');
const requestColumns = pick({
  id: r.id,
  slip44: r.slip44,
  num: r.num,
  received: r.received,
  state: r.state,
  requestedAt: [sql`r.requested_at::text`, text],
  finishedAt: [sql`r.finished_at::text`, orNull(text)],
  error: [sql`left(r.error, ${sql.raw(String(errorMax))})`, orNull(text)],
});

/** Reads one page of the requests for new addresses, latest first. */
export async function listRequests(
  db: LedgerDb,
  before: number | null,
): Promise<LogPage<RequestRow>> {
  const rows = await query(db)`
    select ${requestColumns} from own.address_requests r
     where r.id < ${before ?? Number.MAX_SAFE_INTEGER}
     order by r.id desc ${pageLimit}`;
  return logPageOf(rows);
}
