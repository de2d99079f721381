import { sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { RecordSource, Reject } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, orNull, out, pick, query } from '../connection/query-rows.ts';
import { rejects as rejectTable } from '../own-tables.ts';
import { fingerprintOf } from './reject-identity.ts';
import { resolveRejects, storeRejects } from './reject-store.ts';
import { uniqueNewest } from './transaction-statement.ts';

/** An answer with an order number. `unreadable`: its fields that yielded a reject. */
type Answer = { orderNo: string; observation: number; unreadable?: string[] };

/**
 * Resolves the open rejects that the answers of one source settle. An answer settles a reject of its own kind if it
 * shows the field readably or, for a reject of the whole row, if its row was stored. A detail that brings a value also
 * settles the list's reject of this field, because the detail's value is the one that counts. A value that the row had
 * before settles nothing, nor does an answer that is older than the row.
 *
 * Call it in the transaction that stores the answers, after its rows. Answers without an order number are left out.
 * `repeated` are the rejects of the same answers; they stay open. Returns the number of resolved rejects.
 */
export async function closeAnsweredRejects(
  db: LedgerDb,
  source: RecordSource,
  rows: readonly object[],
  repeated: Reject[] = [],
): Promise<number> {
  const answers = rows.filter(isAnswer);
  if (answers.length === 0) return 0;
  const open = await openRejectsOf(
    db,
    answers.map(({ orderNo }) => orderNo),
  );
  if (open.length === 0) return 0;
  const newest = new Map(uniqueNewest(answers).map((answer) => [answer.orderNo, answer]));
  const stays = new Set(repeated.map(fingerprintOf));
  const settled = open.filter((reject) => {
    const answer = newest.get(reject.orderNo ?? '');
    if (!answer || stays.has(reject.fingerprint)) return false;
    return answer.observation >= (reject.observation ?? 0) && isSettled(reject, source, answer);
  });
  await resolveRejects(
    db,
    settled.map(({ id }) => id),
  );
  return settled.length;
}

function isAnswer(row: object): row is Answer {
  return 'orderNo' in row && typeof row.orderNo === 'string' && 'observation' in row;
}

/** Returns the open rejects of the orders, with the observation of the last answer that wrote the row. */
async function openRejectsOf(db: LedgerDb, orderNos: string[]) {
  const { id, source, orderNo, field, fingerprint } = alias(rejectTable, 'r');
  return await query(db)`
    with r as materialized (
      select * from own.rejects where resolved_at is null and order_no = any(${sql.param(orderNos)}::text[])
    )
    select ${pick({ id, source, orderNo, field, fingerprint })},
           greatest((select t.observation from own.transactions t where t.order_no = r.order_no),
                    (select c.observation from own.detail_checks c where c.order_no = r.order_no))
             as ${out('observation', orNull(number))}
      from r`;
}

function isSettled(
  reject: { source: RecordSource; field: string | null },
  source: RecordSource,
  answer: Answer,
): boolean {
  const { field } = reject;
  if (field !== null && answer.unreadable?.includes(field)) return false;
  if (reject.source === source) return true;
  if (reject.source !== 'transaction-list' || field === null) return false;
  const value = Object.entries(answer).find(([key]) => key === keyOfField(field))?.[1];
  return value !== null && value !== undefined;
}

/** Returns the field's name in the records. */
function keyOfField(field: string): string {
  return field === 'time' ? 'occurredAt' : field;
}

/**
 * Stores the rejects of the latest answer of a snapshot, and resolves the open ones that it no longer has. Call it in
 * the transaction that stores the answer, which names every row.
 */
export async function noteSnapshotRejects(
  db: LedgerDb,
  source: 'balance-list' | 'coin-list',
  rejects: Reject[],
): Promise<void> {
  await storeRejects(db, rejects);
  await db.execute(sql`
    update own.rejects set resolved_at = now()
     where resolved_at is null and order_no is null and source = ${source}
       and fingerprint <> all(${sql.param(rejects.map(fingerprintOf))}::text[])`);
}

/**
 * Resolves the open rejects of listed transactions without a usable key once both lists are proven complete: the ledger
 * then has every row that they list, so that none of them shows such a row any more. A reject does not name its list.
 */
export async function closeUnlistedRejects(db: LedgerDb): Promise<void> {
  await db.execute(sql`
    update own.rejects set resolved_at = now()
     where resolved_at is null and order_no is null and source = 'transaction-list'
       and (select count(*) from own.streams where name in ('deposit', 'withdraw') and is_complete) = 2`);
}
