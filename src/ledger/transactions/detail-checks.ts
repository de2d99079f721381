import { type SQL, sql } from 'drizzle-orm';
import { type Lane, lanes } from '../../kernel/ticket.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { out, query, text, truth } from '../connection/query-rows.ts';
import { arrayParam } from '../connection/unnest-rows.ts';

/**
 * Order in which rows are claimed: new rows and rows that the list shows changed; open rows that are checked again;
 * final rows of the history; rows that the service refused several times.
 */
export const turn = { news: 0, open: 1, history: 2, refused: 3 } as const;

/** Refusals in a row after which a check comes after the history, and only in the next pass. */
const refusalsBeforeLast = 3;
/** Refusals in a row after which the pause has grown to its maximum, about three days after the first one. */
const refusalsGivenUp = 14;
/** Pause after a refusal; it doubles with each further one. */
const pauseAfterRefusal = sql`least(interval '2 days', interval '15 seconds' * 2 ^ least(c.refusals, 20))`;

/** Characters of a reason that are kept. */
const reasonMax = 300;

/** While both kinds are due, one of this many claimed rows is of the history, so that the history always progresses. */
const historyShare = 8;

/** A claimed row, with the lane of its request. `isRefused`: the service refused its last request. */
export type ClaimedDetail = { orderNo: string; lane: Lane; isRefused: boolean };

/**
 * Condition that a row `t` of own.transactions waits for its first detail and has no row of own.detail_checks: writing
 * these rows would slow a backfill by a fifth. An index and the view ledger.waiting_details have the same condition.
 */
export const isOfHistory = sql`t.is_final and t.is_backfilled and t.is_listed and t.detail_synced_at is null
     and not exists (select from own.detail_checks c where c.order_no = t.order_no)`;

/**
 * Selects and locks due rows of these turns that no worker holds, by turn and then longest due. Leaves out rows that
 * were refused several times, the last time within `passAgeMs`.
 */
function due(turns: readonly number[], limit: SQL, passAgeMs: number): SQL {
  return sql`
      select d.order_no from unnest(${sql.param([...turns])}::smallint[]) with ordinality as w (turn, place)
       cross join lateral (
         select c.order_no from own.detail_checks c
          where c.turn = w.turn and c.due_at <= now() and (c.claimed_until is null or c.claimed_until <= now())
             and (c.refusals < ${refusalsBeforeLast} or c.refused_at is null
                  or c.refused_at < now() - ${passAgeMs} * interval '1 millisecond')
          order by c.due_at limit ${limit} for update skip locked) as d
       limit ${limit}`;
}

/** A claim of rows: its id, which `releaseDetails` takes, and how long it keeps them from other workers. */
export type Claim = { id: string; leaseMs: number };

/**
 * Claims up to `limit` rows whose detail is due: current rows first, the history with a share. They are due again after
 * the claim's time if this worker dies. A row that the service has refused several times, and also since the pass began
 * `passAgeMs` ago, is left to a later pass. Returns no row only if none is due.
 */
export async function claimDueDetails(
  db: LedgerDb,
  limit: number,
  claim: Claim,
  passAgeMs = 0,
): Promise<ClaimedDetail[]> {
  for (;;) {
    const rows = await claimOnce(db, limit, claim, passAgeMs);
    // Other workers may have claimed the same rows of the history first, and this claim waited for their commit.
    if (rows.length > 0 || !(await isHistoryWaiting(db))) return rows;
  }
}

async function isHistoryWaiting(db: LedgerDb): Promise<boolean> {
  const [found] = await query(db)`
    select exists (select from own.transactions t where ${isOfHistory}) as ${out('isWaiting', truth)}`;
  return found?.isWaiting ?? false;
}

async function claimOnce(
  db: LedgerDb,
  limit: number,
  claim: Claim,
  passAgeMs: number,
): Promise<ClaimedDetail[]> {
  const currentMax = sql`${limit - Math.floor(limit / historyShare)}::bigint`;
  const left = sql`${limit} - (select count(*) from current)`;
  const rows = sql`
    current as materialized (${due([turn.news, turn.open], currentMax, passAgeMs)}),
    history as (
      insert into own.detail_checks (order_no, is_final, turn, claimed_until, claim)
      select t.order_no, true, ${turn.history}, now() + ${claim.leaseMs} * interval '1 millisecond', ${claim.id}::uuid
        from own.transactions t
       where ${isOfHistory} order by t.occurred_at desc limit ${left}
      on conflict (wallet, order_no) do nothing
      returning order_no
    ),
    others as materialized (
      ${due([turn.history, turn.refused], sql`${left} - (select count(*) from history)`, passAgeMs)}),
    taken as (select order_no from current union all select order_no from others)`;
  return await claimed(db, rows, claim, sql`union all select order_no, false, false from history`);
}

/**
 * Claims the rows of the relation `taken (order_no)`, which `rows` defines and has locked. `beside` adds rows that are
 * claimed already.
 */
export async function claimed(
  db: LedgerDb,
  rows: SQL,
  { id, leaseMs }: Claim,
  beside = sql``,
): Promise<ClaimedDetail[]> {
  const found = await query(db)`
    with ${rows},
    claimed as (
      update own.detail_checks c
         set claimed_until = now() + ${leaseMs} * interval '1 millisecond', claim = ${id}::uuid
        from taken where c.order_no = taken.order_no
      returning c.order_no, c.turn <= ${turn.open} as is_current, c.refusals > 0 as is_refused
    )
    select order_no as ${out('orderNo', text)}, is_current as ${out('isCurrent', truth)},
           is_refused as ${out('isRefused', truth)} from claimed ${beside}`;
  return found
    .map(({ orderNo, isCurrent, isRefused }): ClaimedDetail => {
      return { orderNo, lane: isCurrent ? 'current' : 'backlog', isRefused };
    })
    .sort((a, b) => lanes.indexOf(a.lane) - lanes.indexOf(b.lane));
}

/** A row for which the service gave no detail, or none that could be stored. */
export type Refusal = { orderNo: string; reason: string | null };

/**
 * Postpones rows of a claim for which the service gave no detail. The pause grows with each refusal. A row that was
 * requested during its pause keeps that pause, so that commands do not make it longer. Rows that the claim no longer
 * holds stay as they are: another worker has claimed them since, or the list has shown a change.
 */
export async function postponeDetails(
  db: LedgerDb,
  refused: Refusal[],
  claimId: string,
): Promise<void> {
  if (refused.length === 0) return;
  const orderNos = sql`${arrayParam(refused, ({ orderNo }) => orderNo)}::text[]`;
  await db.execute(sql`
    update own.detail_checks c
       set refused_at = now(), refusal = left(l.reason, ${reasonMax}), claimed_until = null,
           refused_since = case when c.refusals = 0 then now() else coalesce(c.refused_since, now()) end,
           refusals = case when l.is_pausing then c.refusals else least(c.refusals + 1, 1000) end,
           due_at = case when l.is_pausing then c.due_at else now() + ${pauseAfterRefusal} end,
           turn = case when c.refusals + 1 >= ${refusalsBeforeLast} and not l.is_pausing then ${turn.refused} else c.turn end
      from (select h.order_no, r.reason, h.refusals > 0 and h.due_at > now() as is_pausing
              from (${heldBy(claimId, sql`order_no = any(${orderNos})`)}) as h
              join unnest(${orderNos}, ${arrayParam(refused, ({ reason }) => reason)}::text[]) as r (order_no, reason)
                on r.order_no = h.order_no) as l
     where c.order_no = l.order_no`);
}

/** Extends the claim of its rows by the same time. Rows that another worker has claimed since stay with it. */
export async function extendClaim(db: LedgerDb, { id, leaseMs }: Claim): Promise<void> {
  await db.execute(sql`
    update own.detail_checks c set claimed_until = now() + ${leaseMs} * interval '1 millisecond'
      from (${heldBy(id)}) as l where c.order_no = l.order_no`);
}

/**
 * Releases the rows of a claim that were neither stored nor postponed; they are due at once. Rows that another worker
 * has claimed since stay with it.
 */
export async function releaseDetails(db: LedgerDb, claimId: string): Promise<void> {
  await db.execute(sql`
    update own.detail_checks c set claimed_until = null
      from (${heldBy(claimId)}) as l where c.order_no = l.order_no`);
}

/** Returns true if a worker holds a final row; its claim ends with the lease at the latest. */
export async function isFinalDetailHeld(db: LedgerDb): Promise<boolean> {
  const [found] = await query(db)`
    select exists (select from own.detail_checks c
                    where c.is_final and c.claimed_until > now()) as ${out('isHeld', truth)}`;
  return found?.isHeld ?? false;
}

/** Locks the rows that a claim still holds, in key order, as every writer does. */
function heldBy(claimId: string, condition = sql`true`): SQL {
  return sql`select order_no, refusals, due_at from own.detail_checks
    where claim = ${claimId}::uuid and claimed_until is not null and ${condition} order by order_no for update`;
}

/**
 * Releases all claimed rows, because their workers may have died. Does nothing while another process uses this
 * database: the claims could be its own.
 */
export async function releaseAbandonedDetails(db: LedgerDb, instance: string): Promise<void> {
  await db.execute(sql`
    update own.detail_checks set claimed_until = null
     where claimed_until > now()
       and not exists (select from pg_stat_activity
                        where datname = current_database() and application_name like 'wallet-ledger %'
                          and application_name <> ${instance})`);
}

/**
 * Makes the schedule match the transactions: after a restore of the schema `ledger` alone it may belong to other rows.
 * Reads all transactions.
 */
export async function rescheduleDetails(db: LedgerDb): Promise<void> {
  await db.execute(sql`
    delete from own.detail_checks c
     where not exists (select from own.transactions t where t.order_no = c.order_no)`);
  await db.execute(sql`
    insert into own.detail_checks (order_no, is_final, turn)
    select order_no, is_final, case when is_final then ${turn.news}::smallint else ${turn.open}::smallint end
      from own.transactions
     where not is_final or is_listed and detail_synced_at < changed_at
        or is_listed and detail_synced_at is null and not is_backfilled
     order by order_no
    on conflict (wallet, order_no) do update set is_final = excluded.is_final`);
}

/** Condition on a row of own.detail_checks that the service has refused its detail for days. */
export const isGivenUp = sql`refusals >= ${refusalsGivenUp}`;

/**
 * Returns the CTE that makes the details of these rows due at once, and ends claims: their answer may be older. `rows`
 * selects order_no, is_final and turn.
 */
export function dueAtOnce(name: string, rows: SQL): SQL {
  return sql`${sql.identifier(name)} as (
  insert into own.detail_checks as c (order_no, is_final, turn)
  ${rows}
   order by 1
  on conflict (wallet, order_no) do update
    set is_final = excluded.is_final, turn = excluded.turn, due_at = now(), claimed_until = null, refusals = 0
)`;
}
