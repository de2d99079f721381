import { sql } from 'drizzle-orm';
import type { Judgement } from '../../kernel/address-form/judge-addresses.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import { requireHomeOfRequest } from '../home-store.ts';
import { storeRejects } from '../transactions/reject-store.ts';
import { recountUse } from './address-store.ts';
import { lockPoolOf } from './pool-requests.ts';
import { judgements, judgeShown, noteRefusals, storeJudgements } from './refused-addresses.ts';

/** A clear answer, and how the chain waits where it brings no new address. */
export type Answer = {
  id: number;
  slip44: number;
  num: number;
  addresses: string[];
  rejects: Reject[];
  ifNothingNew: { error: string; refusals: number; delayMs: number };
};

/** Most addresses to ask for after the service granted `num`. */
export type NumAfterGrant = (
  num: number,
  numMax: number,
  refusedAfterGrant: number | null,
) => number;

/** Stores the answers of one pass over the pools; `chainParam`: the name of the chain parameter that it uses. */
export function openAnswers(ledger: Ledger, chainParam: string) {
  return {
    /** Returns how many addresses joined the pool; null: the answer is put off. Fails when the database has moved. */
    storeAnswer: (answer: Answer, numAfterGrant: NumAfterGrant): Promise<number | null> =>
      ledger.transaction(async (db) => {
        const { id, slip44, addresses } = answer;
        await requireHomeOfRequest(db, id);
        await storeRejects(db, answer.rejects);
        if (!(await isFilterProven(db, slip44, chainParam))) {
          await holdAnswer(db, id, addresses);
          return null;
        }
        const joined = await storeGenerated(db, id, addresses);
        if (joined === 0) await postponePool(db, slip44, answer.ifNothingNew);
        else await raiseNumber(db, answer, numAfterGrant);
        return joined;
      }),
  };
}

/** Whether the chain's list was shown to heed the chain by this name of its parameter. */
export async function isFilterProven(
  db: LedgerDb,
  slip44: number,
  chainParam: string,
): Promise<boolean> {
  const found = await db.execute<{ proven: boolean }>(sql`
    select chain_filter = 'works' and chain_param = ${chainParam} as proven from ledger.pools
     where slip44 = ${slip44}`);
  return found.rows[0]?.proven ?? false;
}

/** Puts the addresses of a clear answer off: before the list's chain filter is shown to work none of them is stored. */
async function holdAnswer(db: LedgerDb, id: number, addresses: string[]): Promise<void> {
  await lockPoolOf(db, id);
  await db.execute(sql`
    update ledger.address_requests set state = 'unknown', answer = ${sql.param(addresses)}::text[]
     where id = ${id} and state in ('sent', 'unknown')`);
}

/**
 * Stores the addresses of a clear answer, or those of the answer that was put off (null), and closes the request; call
 * it inside a transaction. Ours are those that were known nowhere before the request: on no chain, by no other request.
 * What a reading of the list has brought in since is ours all the same. If more of them came than were asked for,
 * nobody can tell which are ours: all stay foreign. Returns how many joined the pool. An answer that comes after its
 * request was given up still counts.
 */
export async function storeGenerated(
  db: LedgerDb,
  id: number,
  addresses: string[] | null,
): Promise<number> {
  await lockPoolOf(db, id);
  const { slip44, judged } = await judgeAnswer(db, id, addresses);
  const given = sql`${judgements(judged)},
given as (
  select distinct on (r.id, ledger.address_key(i.address)) r.id, r.slip44, r.num, r.requested_at, i.address,
         ledger.address_key(i.address) as key, j.form, j.refused
    from ledger.address_requests r, unnest(${sql.param(judged.map(({ address }) => address))}::text[]) with ordinality as i (address, place)
    join judged j on j.address = i.address
   where r.id = ${id}
   order by r.id, ledger.address_key(i.address), i.place
)`;
  // First all that is not known on the chain, as foreign: what others insert meanwhile is seen by the next statement.
  const inserted = await db.execute<{ key: string }>(sql`
with ${given},
inserted as (
  insert into ledger.addresses (slip44, address, status, first_seen_at, form, refused)
  select g.slip44, g.address, 'foreign', now(), g.form, g.refused from given g order by g.key
  on conflict (slip44, address_key) do nothing
  returning slip44, address_key
),
counted as (
  update ledger.streams s set ledger_count = s.ledger_count + n.inserted
    from (select slip44, count(*) as inserted from inserted group by slip44) n
   where s.name = 'addresses:' || n.slip44
)
select address_key as key from inserted`);
  // The list may have shown some before it was shown to heed the chain.
  await storeJudgements(db, slip44, judged, { misfitsOnly: true });
  const joined = await db.execute<{ key: string }>(sql`
with ${given},
ours as (
  select g.* from given g join ledger.addresses a on a.slip44 = g.slip44 and a.address_key = g.key
   where a.generated_by is null and a.first_seen_at >= g.requested_at
     and not exists (select from ledger.addresses o
                      where o.address_key = g.key and o.slip44 <> g.slip44 and o.first_seen_at <= g.requested_at)
)
update ledger.addresses a
   set generated_by = o.id, status = case when a.status = 'foreign' then 'available' else a.status end
  from ours o
 where a.slip44 = o.slip44 and a.address_key = o.key and (select count(*) from ours) <= o.num
   and a.refused is null
returning a.address_key as key`);
  await noteRefusals(db, slip44, judged);
  // Somebody may have paid to one already.
  const keys = [...inserted.rows, ...joined.rows].map(({ key }) => key);
  await recountUse(db, [...new Set(keys)]);
  await db.execute(sql`
    update ledger.pools p
       set refusals = 0, losses = 0, next_try_at = null, last_error = null, last_error_at = null
      from ledger.address_requests r
     where r.id = ${id} and p.slip44 = r.slip44 and (p.refusals > 0 or p.losses > 0 or p.last_error is not null)`);
  const closed = await db.execute<{ received: number }>(sql`
    update ledger.address_requests r
       set state = 'done', finished_at = now(), received = n.received, answer = null,
           error = case when n.received <> r.num
                        then format('%s addresses were asked for, %s new ones came', r.num, n.received) end
      from (select count(*)::int as received from ledger.addresses where generated_by = ${id}) n
     where r.id = ${id}
    returning r.received`);
  return closed.rows[0]?.received ?? 0;
}

/** The answer of a request, as it came or as it was put off (null), with what its addresses are. */
async function judgeAnswer(
  db: LedgerDb,
  id: number,
  addresses: string[] | null,
): Promise<{ slip44: number; judged: Judgement[] }> {
  const found = await db.execute<{ slip44: number; answer: string[] | null }>(
    sql`select slip44, answer from ledger.address_requests where id = ${id}`,
  );
  const { slip44 = -1, answer = null } = found.rows[0] ?? {};
  const given = [...new Set(addresses ?? answer ?? [])];
  return { slip44, judged: await judgeShown(db, slip44, given) };
}

/**
 * Lets the chain wait as after a refusal: a service that accepts and brings nothing new would be asked forever, while
 * it may still generate.
 */
async function postponePool(
  db: LedgerDb,
  slip44: number,
  { error, refusals, delayMs }: Answer['ifNothingNew'],
): Promise<void> {
  await db.execute(sql`
    update ledger.pools
       set refusals = ${refusals}, next_try_at = now() + ${delayMs} * interval '1 millisecond',
           last_error = ${error}, last_error_at = now()
     where slip44 = ${slip44}`);
}

/**
 * Raises the most that may be asked for at once, after the service granted `num`. `refusedAfterGrant` is the smallest
 * number above it that the service did not grant in the last 24 h right after it had granted a smaller one (null:
 * none). A refusal says so at once. A lost answer may have any cause: only a second one says so, where nothing as
 * large has been granted since the first.
 */
async function raiseNumber(
  db: LedgerDb,
  { slip44, num }: Answer,
  numAfterGrant: NumAfterGrant,
): Promise<void> {
  const found = await db.execute<{ numMax: number; refusedAfterGrant: number | null }>(sql`
    with asked as materialized (
      select id, num, state = 'failed' as is_refused, lost_at is not null as is_lost,
             state = 'done' and lost_at is null and received = num as is_granted
        from ledger.address_requests
       where slip44 = ${slip44} and requested_at > now() - interval '24 hours'
    ),
    doubted as (
      select d.* from (select a.*, lag(num) over w as num_before, lag(is_granted) over w as is_granted_before
                         from asked a window w as (order by id)) d
       where (d.is_refused or d.is_lost) and d.is_granted_before and d.num_before < d.num
    )
    select p.num_max as "numMax", (
             select min(d.num) from doubted d
              where d.num > p.num_max
                and (d.is_refused
                     or exists (select from doubted e
                                 where e.id < d.id and e.num <= d.num and e.num > p.num_max
                                   and not exists (select from asked g
                                                    where g.is_granted and g.num >= e.num and g.id > e.id)))
           ) as "refusedAfterGrant"
      from ledger.pools p where p.slip44 = ${slip44}`);
  const [limits] = found.rows;
  if (!limits) return;
  const numMax = numAfterGrant(num, limits.numMax, limits.refusedAfterGrant);
  if (numMax === limits.numMax) return;
  await db.execute(sql`update ledger.pools set num_max = ${numMax} where slip44 = ${slip44}`);
}
