import { alias } from 'drizzle-orm/pg-core';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { out, pick, query, truth } from '../connection/query-rows.ts';
import { addresses, addressRequests } from '../own-tables.ts';
import { type Answer, postponePool, storeGenerated } from './address-answer-store.ts';
import { recountUse } from './address-store.ts';
import { lockPoolOf } from './pool-store.ts';
import { judgeMisfits } from './refused-addresses.ts';
import { readShownAnswer } from './unshown-answer.ts';

/**
 * Closes a request whose answer was lost, according to what the list has shown since. Returns the number of addresses
 * that joined the pool. Call it inside a transaction.
 *
 * The new addresses are ours only if there are exactly as many as were requested, no other chain has any of them, the
 * list differs from those of other chains, and the last move is more than 24 h ago: a list that lags may show what the
 * previous home generated and handed out. Otherwise they stay foreign.
 *
 * If the answer was postponed, stores it instead, as `storeGenerated` does (`isExclusive` is for it). If it has
 * addresses of another chain and the list does not show all of them, it counts as lost. If no address joins, the pool
 * waits as `ifNoneJoins` says.
 */
export async function resolveRequest(
  db: LedgerDb,
  id: number,
  {
    isExclusive = false,
    ifNoneJoins,
  }: { isExclusive?: boolean; ifNoneJoins?: Answer['ifNoneJoins'] } = {},
): Promise<number> {
  await lockPoolOf(db, id);
  const { slip44 } = addressRequests;
  const [request] = await query(db)`
    select ${pick({ slip44 })}, answer is not null as ${out('hasAnswer', truth)}
      from own.address_requests where id = ${id} and state = 'unknown' for update`;
  if (!request) return 0;
  const joined = await closeRequest(db, id, { ...request, isExclusive });
  if (request.hasAnswer && joined === 0 && ifNoneJoins)
    await postponePool(db, { id, slip44: request.slip44, ifNoneJoins });
  return joined;
}

async function closeRequest(
  db: LedgerDb,
  id: number,
  request: { slip44: number; hasAnswer: boolean; isExclusive: boolean },
): Promise<number> {
  const { slip44, hasAnswer, isExclusive } = request;
  if (!hasAnswer) return await closeByList(db, id, slip44);
  const { unshown, shown } = await readShownAnswer(db, id);
  if (unshown === 0) return await storeGenerated(db, id, null, { isExclusive });
  const joined = await closeByList(db, id, slip44);
  if (joined > 0 || shown.length === 0) return joined;
  return await storeGenerated(db, id, shown, { unshown });
}

/** Closes a request by all that the list has shown since. */
async function closeByList(db: LedgerDb, id: number, slip44: number): Promise<number> {
  const shown = await query(db)`
    select ${pick({ key: alias(addresses, 'a').addressKey })} from own.addresses a join own.address_requests r on r.slip44 = a.slip44
     where r.id = ${id} and a.generated_by is null and a.after_request >= r.id`;
  await judgeMisfits(
    db,
    slip44,
    shown.map(({ key }) => key),
  );
  const resolved = await query(db)`
with request as (
  select id, slip44, num, requested_at from own.address_requests where id = ${id}
),
found as (
  select a.slip44, a.address_key,
         exists (select from own.addresses o where o.address_key = a.address_key and o.slip44 <> a.slip44) as is_elsewhere
    from own.addresses a join request r on r.slip44 = a.slip44
   where a.generated_by is null and a.after_request >= r.id
),
verdict as (
  select count(*) as found,
         count(*) = (select num from request) and not bool_or(is_elsewhere)
           and not exists (select from own.pools p join request r on r.slip44 = p.slip44 where p.chain_filter = 'shared')
           and not exists (select from engine.home h where h.epoch > 1 and h.begun_at > now() - interval '24 hours') as is_ours
    from found
),
adopted as (
  update own.addresses a
     set generated_by = ${id}, place = engine.current_place(), unchecked_until = '0',
         status = case when a.status = 'foreign' then 'available' else a.status end
    from found f, verdict v
   where v.is_ours and a.slip44 = f.slip44 and a.address_key = f.address_key and a.refused is null
  returning a.address_key
),
closed as (
  update own.address_requests r
     set state = 'done', finished_at = now(), received = (select count(*) from adopted), generated = v.found,
         error = format('%s; the list shows %s new addresses of %s%s',
                        case when r.answer is null then format('the answer was lost (%s)', r.error)
                             else 'the answer named addresses of other chains that the list of this one does not show' end,
                        v.found, r.num,
                        case when v.is_ours or v.found = 0 then '' else ', without proof that they are ours: they stay foreign' end)
    from verdict v where r.id = ${id}
)
select ${pick({ key: alias(addresses, 'adopted').addressKey })} from adopted`;
  const keys = resolved.map(({ key }) => key);
  if (keys.length > 0) await recountUse(db, keys);
  return keys.length;
}
