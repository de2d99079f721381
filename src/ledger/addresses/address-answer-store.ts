import { eq, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Judgement } from '../../kernel/address-form/judge-addresses.ts';
import { isAnswerEnough } from '../../kernel/chain-filter.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, number, out, pick, query, text } from '../connection/query-rows.ts';
import { requireHomeOfRequest } from '../home-store.ts';
import { addressRequests, addresses as addressTable } from '../own-tables.ts';
import { storeRejects } from '../transactions/reject-store.ts';
import { lowerNumber, raiseNumber } from './adapt-number.ts';
import { recountUse } from './address-store.ts';
import { describeShortfall, nothingCame } from './describe-shortfall.ts';
import { lockPoolOf, readChainFilter } from './pool-store.ts';
import { judgements, judgeShown, noteRefusals, storeJudgements } from './refused-addresses.ts';
import { isAnyElsewhere } from './unshown-answer.ts';

/** A clear answer of the service, and the backoff of the chain if no address of the answer joins the pool. */
export type Answer = {
  id: number;
  slip44: number;
  num: number;
  addresses: string[];
  rejects: Reject[];
  ifNoneJoins: { refusals: number; delayMs: number };
};

/**
 * Returns the store for the answers of one pass over the pools. `chainParam` is the name of the service's chain
 * parameter. `ownerOf` returns the owner under which the pass inserted a request. `isExclusive`: no other program
 * generates addresses with this key.
 */
export function openAnswers(
  ledger: Ledger,
  { chainParam, isExclusive }: { chainParam: string; isExclusive: boolean },
  ownerOf: (id: number) => string | null,
) {
  return {
    /**
     * Returns the number of addresses that joined the pool, or null if the answer is postponed. Throws LedgerError
     * `database-moved` if the database has moved since the request was sent.
     */
    storeAnswer: (answer: Answer): Promise<number | null> =>
      ledger.transaction(async (db) => {
        const { id, slip44, addresses } = answer;
        await requireHomeOfRequest(db, { id, slip44, owner: ownerOf(id) });
        await storeRejects(db, answer.rejects);
        const isHeld =
          !isAnswerEnough(await readChainFilter(db, slip44, chainParam)) ||
          (await isAnyElsewhere(db, slip44, addresses));
        if (addresses.length > 0 && isHeld) {
          await holdAnswer(db, answer);
          return null;
        }
        const joined = await storeGenerated(db, id, addresses, {
          unreadable: answer.rejects.length,
          isExclusive,
        });
        if (joined === 0) await postponePool(db, answer);
        else await raiseNumber(db, answer);
        return joined;
      }),
    dropAnswer: (id: number, refusals: Answer['ifNoneJoins']): Promise<void> =>
      ledger.transaction((db) => dropAnswer(db, id, refusals)),
  };
}

const neverShown =
  'the address list did not show the addresses of the answer: none of them joined the pool';

/** Closes a request whose answer is postponed. Its addresses stay stored in the request's row. */
async function dropAnswer(
  db: LedgerDb,
  id: number,
  { refusals, delayMs }: Answer['ifNoneJoins'],
): Promise<void> {
  await lockPoolOf(db, id);
  await db.execute(sql`
    with dropped as (
      update own.address_requests set state = 'done', finished_at = now(), received = 0, error = ${neverShown}
       where id = ${id} and state = 'unknown' and answer is not null returning slip44)
    update own.pools p
       set refusals = ${refusals}, next_try_at = now() + ${delayMs} * interval '1 millisecond',
           last_error = ${neverShown}, last_error_at = now()
      from dropped d where p.slip44 = d.slip44`);
}

/**
 * Postpones a clear answer: keeps its addresses in the request's row, without storing them as addresses. They are
 * stored once the list's chain filter is shown to work. If another chain has one of them, the chain's own list must
 * also show them.
 */
async function holdAnswer(db: LedgerDb, { id, addresses, rejects }: Answer): Promise<void> {
  await lockPoolOf(db, id);
  await db.execute(sql`
    update own.address_requests
       set state = 'unknown', answer = ${sql.param(addresses)}::text[], generated = ${new Set(addresses).size + rejects.length}
     where id = ${id} and state in ('sent', 'unknown')`);
}

/**
 * Stores the addresses of a clear answer and closes the request. With `addresses` null it stores the postponed answer.
 * Returns the number of addresses that joined the pool. Call it inside a transaction.
 * An address is ours if no list and no other request brought it before this request, on any chain. An address that the
 * list brought since the request is ours as well. Another chain may have it, as chains of one form do, if the ledger
 * generated it there and has not set it aside since. If there are more of them than were requested, there is no proof
 * which are ours, and all stay foreign. With `isExclusive` all are ours, if the answer names no address that was known
 * before and the last move is more than 24 h ago. An answer that arrives after its request became unknown still counts.
 * `unreadable`: entries of the answer without an address; `unshown`: addresses that the list does not show.
 */
export async function storeGenerated(
  db: LedgerDb,
  id: number,
  addresses: string[] | null,
  {
    unreadable = 0,
    unshown = 0,
    isExclusive = false,
  }: { unreadable?: number; unshown?: number; isExclusive?: boolean } = {},
): Promise<number> {
  await lockPoolOf(db, id);
  // A postponed answer is older than the list, and so are its spellings.
  const isHeld = addresses === null || unshown > 0;
  const { slip44, num, judged } = await judgeAnswer(db, id, addresses);
  const given = givenOf(id, judged);
  // Inserts every unknown address as foreign first. The next statement then sees the rows that other transactions
  // insert meanwhile. The service's total grows by what the service has generated, so a complete list stays complete;
  // the next pass over the list checks that total.
  const inserted = await query(db)`
with ${given},
inserted as (
  insert into own.addresses (slip44, address, status, first_seen_at, form, refused)
  select g.slip44, g.address, 'foreign', now(), g.form, g.refused from given g order by g.key
  on conflict (wallet, slip44, address_key) do nothing
  returning slip44, address_key
),
counted as (
  update own.streams s
     set ledger_count = s.ledger_count + n.inserted,
         service_total = s.service_total + case when s.is_complete and n.inserted <= ${num} then n.inserted else 0 end
    from (select slip44, count(*) as inserted from inserted group by slip44) n
   where s.name = 'addresses:' || n.slip44
)
select ${pick({ key: alias(addressTable, 'inserted').addressKey })} from inserted`;
  await lockAddresses(db, judged);
  // Judges misfits again: the list may have shown some of these addresses before its chain filter was shown to work.
  await storeJudgements(db, slip44, judged, { misfitsOnly: true });
  const [came = nothingCame] = await query(db)`
with ${given},
ours as (
  select g.* from given g join own.addresses a on a.slip44 = g.slip44 and a.address_key = g.key
   where a.generated_by is null and a.after_request >= g.id
     and not exists (select from own.addresses o where o.address_key = g.key and o.slip44 <> g.slip44
                      and o.after_request < g.id and (o.generated_by is null or o.status = 'foreign'))
),
joined as (
  update own.addresses a
     set generated_by = o.id, address = case when ${isHeld} then o.address else a.address end, place = engine.current_place(), unchecked_until = '0',
         status = case when a.status = 'foreign' then 'available' else a.status end
    from ours o
   where a.slip44 = o.slip44 and a.address_key = o.key and a.refused is null
     and ((select count(*) from ours) <= o.num or ${isExclusive} and ${areAllOurs})
  returning a.address_key
)
select (select count(*) from given) as ${out('came', number)}, (select count(*) from ours) as ${out('fresh', number)},
       (select coalesce(array_agg(address_key), '{}') from joined) as ${out('keys', listOf(text))}`;
  await noteRefusals(db, slip44, judged);
  // Counts deposits: a customer may have paid to one of the addresses already. One that is being stored is found by the
  // next check of new addresses.
  await recountUse(db, [...new Set([...inserted.map(({ key }) => key), ...came.keys])]);
  const [closed] = await query(db)`
    update own.address_requests r
       set state = 'done', finished_at = now(), received = n.received, answer = null,
           generated = greatest(r.generated, ${came.fresh + unreadable}),
           error = case when n.received <> r.num then ${describeShortfall(num, came, unshown)}::text end
      from (select count(*)::int as received from own.addresses where generated_by = ${id}) n
     where r.id = ${id}
    returning ${pick({ received: alias(addressRequests, 'r').received })}`;
  await settlePool(db, id);
  return closed?.received ?? 0;
}

/** Returns the CTE `given`, after that of the judgements: the addresses of the answer to request `id`. */
function givenOf(id: number, judged: readonly Judgement[]): SQL {
  return sql`${judgements(judged)},
given as (
  select distinct on (r.id, ledger.address_key(i.address)) r.id, r.slip44, r.num, i.address,
         ledger.address_key(i.address) as key, j.form, j.refused
    from own.address_requests r, unnest(${sql.param(judged.map(({ address }) => address))}::text[]) with ordinality as i (address, place)
    join judged j on j.address = i.address
   where r.id = ${id}
   order by r.id, ledger.address_key(i.address), i.place
)`;
}

/** Condition for an answer with too many addresses, if no other program uses the key. */
const areAllOurs = sql`(select count(*) from ours) = (select count(*) from given)
             and not exists (select from engine.home h where h.epoch > 1 and h.begun_at > now() - interval '24 hours')`;

/** Locks the rows that all chains have of these addresses, in the order in which every writer of several locks them. */
async function lockAddresses(db: LedgerDb, judged: readonly Judgement[]): Promise<void> {
  await db.execute(sql`
    with ${judgements(judged)}
    select from own.addresses
     where address_key in (select ledger.address_key(address) from judged)
     order by address_key, slip44 for update`);
}

/**
 * Ends the backoff of the request's pool, and lowers its number if fewer addresses came. An unusable answer with too
 * many addresses leaves a time in `next_try_at` (`isExcess`).
 */
async function settlePool(db: LedgerDb, id: number): Promise<void> {
  await db.execute(sql`
    update own.pools p
       set refusals = 0, losses = 0, last_error = null, last_error_at = null,
           next_try_at = case when r.received = 0 and r.generated > r.num then now() end
      from own.address_requests r
     where r.id = ${id} and p.slip44 = r.slip44 and (p.refusals > 0 or p.losses > 0 or p.last_error is not null
       or r.received = 0 and r.generated > r.num)`);
  await lowerNumber(db, id);
}

/**
 * Returns the addresses of the request's answer with their judgements. With `addresses` null it reads the postponed
 * answer.
 */
async function judgeAnswer(
  db: LedgerDb,
  id: number,
  addresses: string[] | null,
): Promise<{ slip44: number; num: number; judged: Judgement[] }> {
  const [request] = await db.select().from(addressRequests).where(eq(addressRequests.id, id));
  const { slip44 = -1, num = 0, answer = null } = request ?? {};
  const given = [...new Set(addresses ?? answer ?? [])];
  return { slip44, num, judged: await judgeShown(db, slip44, given) };
}

/** Backs off as after a refusal, because a service that returns no usable address may still generate. */
export async function postponePool(
  db: LedgerDb,
  { id, slip44, ifNoneJoins }: Pick<Answer, 'id' | 'slip44' | 'ifNoneJoins'>,
): Promise<void> {
  const { refusals, delayMs } = ifNoneJoins;
  await db.execute(sql`
    update own.pools
       set refusals = ${refusals}, next_try_at = now() + ${delayMs} * interval '1 millisecond',
           last_error = (select error from own.address_requests where id = ${id}), last_error_at = now()
     where slip44 = ${slip44}`);
}
