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
import { rejects, syncRuns } from '../../own-tables.ts';
import { type LogPage, logPageOf, pageLimit } from './log-page.ts';

export type RejectRow = RowNamedBy<typeof rejectColumns>;
export type RunRow = RowNamedBy<typeof runColumns>;

/** Upper bound of the rows that a page reads to find those that match. */
const rowsReadMax = 20_000;
const payloadMax = 4_000;
const errorMax = 2_000;

const r = alias(rejects, 'r');
const rejectColumns = pick({
  id: r.id,
  source: r.source,
  orderNo: r.orderNo,
  field: r.field,
  reason: [sql`left(r.reason, ${sql.raw(String(errorMax))})`, text],
  payload: [sql`left(r.payload, ${sql.raw(String(payloadMax))})`, text],
  times: r.times,
  firstSeenAt: [sql`r.first_seen_at::text`, text],
  lastSeenAt: [sql`r.last_seen_at::text`, text],
  resolvedAt: [sql`r.resolved_at::text`, orNull(text)],
});

/** Reads one page of the rejects: the open ones, or all that are still kept. */
export async function listRejects(
  db: LedgerDb,
  { isAll, before }: { isAll: boolean; before: number | null },
): Promise<LogPage<RejectRow>> {
  const rows = await query(db)`
    select ${rejectColumns} from own.rejects r
     where ${isAll ? sql`true` : sql`r.resolved_at is null`} and r.id < ${before ?? Number.MAX_SAFE_INTEGER}
     order by r.id desc ${pageLimit}`;
  return logPageOf(rows);
}

const s = alias(syncRuns, 's');
const runColumns = pick({
  id: s.id,
  job: s.job,
  startedAt: [sql`s.started_at::text`, text],
  finishedAt: [sql`s.finished_at::text`, text],
  seconds: [sql`extract(epoch from s.finished_at - s.started_at)`, number],
  outcome: s.outcome,
  requests: s.requests,
  rowsSeen: s.rowsSeen,
  rowsInserted: s.rowsInserted,
  rowsUpdated: s.rowsUpdated,
  error: [sql`left(s.error, ${sql.raw(String(errorMax))})`, orNull(text)],
});

/** Reads one page of the runs of all jobs or of one, perhaps only those that failed. */
export async function listRuns(
  db: LedgerDb,
  { job, isFailed, before }: { job: string | null; isFailed: boolean; before: number | null },
): Promise<LogPage<RunRow>> {
  const scan = sql`
    select s.* from own.sync_runs s
     where s.id < ${before ?? Number.MAX_SAFE_INTEGER} ${job === null ? sql`` : sql`and s.job = ${job}::text`}
     order by s.id desc limit ${sql.raw(String(rowsReadMax))}`;
  const rows = await query(db)`
    select ${runColumns} from (${scan}) as s where ${isFailed ? sql`s.outcome = 'failed'` : sql`true`}
     order by s.id desc ${pageLimit}`;
  const page = logPageOf(rows);
  if (page.next !== null) return page;
  const [stop] = await query(db)`
    select s.id::text as ${out('id', number)} from (${scan}) as s
     order by s.id desc offset ${sql.raw(String(rowsReadMax - 1))} limit 1`;
  return { rows, next: stop?.id ?? null };
}
