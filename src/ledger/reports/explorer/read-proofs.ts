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
import { streamProofs } from '../../own-tables.ts';
import type { CoveredDay } from '../ledger-status.ts';
import { isoText } from '../status-sql.ts';
import { type LogPage, logPageOf, pageLimit } from './log-page.ts';

/** A calendar year of a list: its days with rows, and how many of them were never compared with the service. */
export type CoveredYear = RowNamedBy<typeof yearColumns>;

/** The days with rows of a list. */
export type CoveredList = { stream: string; days: CoveredDay[] };

/** A change of a list's proof. */
export type ProofRow = RowNamedBy<typeof proofColumns>;

const yearsMax = 200;
const reasonMax = 2_000;

const yearColumns = pick({
  stream: [sql`c.stream`, text],
  year: [sql`c.year`, number],
  days: [sql`count(*)`, number],
  transactions: [sql`sum(c.transactions)`, number],
  neverVerified: [sql`count(*) filter (where c.verified_at is null)`, number],
  verifiedThrough: [sql`min(c.verified_at)::text`, orNull(text)],
});

/** Reads a sum for each list and year, latest year first; at most 200 of them. */
export async function readCoveredYears(db: LedgerDb): Promise<CoveredYear[]> {
  return await query(db)`
    select ${yearColumns}
      from (select d.*, extract(year from d.day) as year from own.coverage d where d.transactions > 0) as c
     group by c.stream, c.year order by c.year desc, c.stream limit ${sql.raw(String(yearsMax))}`;
}

/** Reads the days of a year that have rows, for each list that has such a day. */
export async function readCoveredDays(db: LedgerDb, year: number): Promise<CoveredList[]> {
  const rows = await query(db)`
    select c.stream as ${out('stream', text)}, c.day::text as ${out('day', text)},
           c.transactions as ${out('transactions', number)}, ${isoText('c.verified_at')} as ${out('verifiedAt', orNull(text))}
      from own.coverage c
     where c.transactions > 0 and c.day >= make_date(${year}::integer, 1, 1) and c.day <= make_date(${year}::integer, 12, 31)
     order by c.stream, c.day`;
  const streams = [...new Set(rows.map(({ stream }) => stream))];
  return streams.map((stream) => ({
    stream,
    days: rows.filter((row) => row.stream === stream).map(({ stream: _, ...day }) => day),
  }));
}

const p = alias(streamProofs, 'p');
const proofColumns = pick({
  id: p.id,
  name: p.name,
  observedAt: [sql`p.observed_at::text`, text],
  isComplete: p.isComplete,
  serviceTotal: p.serviceTotal,
  ledgerCount: p.ledgerCount,
  reason: [sql`left(p.reason, ${sql.raw(String(reasonMax))})`, orNull(text)],
});

/** Reads one page of the changes of the lists' proofs, latest first. */
export async function listProofs(db: LedgerDb, before: number | null): Promise<LogPage<ProofRow>> {
  const rows = await query(db)`
    select ${proofColumns} from own.stream_proofs p
     where p.id < ${before ?? Number.MAX_SAFE_INTEGER}
     order by p.id desc ${pageLimit}`;
  return logPageOf(rows);
}
