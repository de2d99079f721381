import { sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, number, out, pick, query, text } from '../connection/query-rows.ts';
import { addresses as addressTable } from '../own-tables.ts';
import { judgements, judgeShown, noteRefused, refuseStrange } from './refused-addresses.ts';

/** Newest address request before the page that lists the address l was requested. */
const newestRequestBefore = sql`
  case when l.observation is null then engine.newest_request()
       else coalesce((select r.id from own.address_requests r where r.observation < l.observation
                       order by r.id desc limit 1), 0) end`;

/**
 * Stores addresses that the service lists for a chain (docs/wallet-service-api.md, section 4.2). A new address is
 * `used` if a deposit that counts went to it, otherwise `foreign`, because someone may have handed it out. The stream
 * `addresses:<slip44>` counts as the service does: each spelling that the list shows is one item. An address that the
 * list does not show yet counts as one item as well. `isChainShown` says that the list was shown to filter by chain.
 * Without it, an address that does not fit the chain may belong to another one and is only marked. `observations` are
 * those of the pages (`observationsOf`), which may be older than requests that were made since; null: the pages are
 * new. Returns the number of new rows. Call it inside a transaction.
 */
export async function storeListedAddresses(
  db: LedgerDb,
  slip44: number,
  addresses: string[],
  {
    isChainShown = true,
    observations = null,
  }: { isChainShown?: boolean; observations?: ReadonlyMap<string, number> | null } = {},
): Promise<{ inserted: number }> {
  const found = await query(db)`
    select ${pick({ address: alias(addressTable, 'i').address })} from unnest(${sql.param(addresses)}::text[]) with ordinality as i (address, place)
     where not exists (select from own.addresses a
                        where a.slip44 = ${slip44} and a.address_key = ledger.address_key(i.address)
                          and i.address = any(a.listed_as))
     group by i.address order by min(i.place)`;
  const news = found.map(({ address }) => address);
  if (news.length === 0) return { inserted: 0 };
  const judged = await judgeShown(db, slip44, news, { isLenient: !isChainShown });
  const shownBy = news.map((address) => observations?.get(address) ?? null);
  const [stored] = await query(db)`
with ${judgements(judged)},
listed as (
  select ledger.address_key(i.address) as key, array_agg(i.address order by i.place) as spellings,
         min(i.observation) as observation
    from unnest(${sql.param(news)}::text[], ${sql.param(shownBy)}::bigint[]) with ordinality as i (address, observation, place)
   group by 1
),
known as (
  select a.address_key, l.spellings, greatest(1, cardinality(a.listed_as)) as items
    from listed l join own.addresses a on a.slip44 = ${slip44} and a.address_key = l.key
   order by a.address_key
     for update of a
),
respelled as (
  update own.addresses a
     set listed_as = a.listed_as || array(select s from unnest(k.spellings) as s where s <> all(a.listed_as))
    from known k
   where a.slip44 = ${slip44} and a.address_key = k.address_key
  returning cardinality(a.listed_as) - k.items as items
),
inserted as (
  insert into own.addresses (slip44, address, listed_as, status, first_seen_at, form, refused, after_request)
  select ${slip44}::integer, l.spellings[1], l.spellings, 'foreign', now(), j.form, j.refused, ${newestRequestBefore}
    from listed l join judged j on j.address = l.spellings[1]
   where l.key not in (select address_key from known)
   order by l.key
  on conflict (wallet, slip44, address_key) do nothing
  returning address, address_key, refused, cardinality(listed_as) as items
),
counted as (
  insert into own.streams (name, ledger_count)
  select ${`addresses:${slip44}`}::text, sum(items)
    from (select items from inserted union all select items from respelled) as i having sum(items) <> 0
  on conflict (wallet, name) do update set ledger_count = streams.ledger_count + excluded.ledger_count
)
select count(*) as ${out('inserted', number)}, coalesce(array_agg(address_key), '{}') as ${out('keys', listOf(text))},
       coalesce(array_agg(address) filter (where refused is not null), '{}') as ${out('refused', listOf(text))}
  from inserted`;
  const { inserted, keys, refused } = stored ?? { inserted: 0, keys: [], refused: [] };
  const isNew = new Set(refused);
  await noteRefused(
    db,
    slip44,
    judged.filter(({ address }) => isNew.has(address)),
  );
  await refuseStrange(db, slip44, judged);
  if (keys.length > 0) await recountUse(db, keys);
  return { inserted };
}

/** Returns for each address the observation of the first page that shows it. */
export function observationsOf(
  rows: readonly { address: string; observation: number }[],
): Map<string, number> {
  const first = new Map<string, number>();
  for (const { address, observation } of rows)
    first.set(address, Math.min(observation, first.get(address) ?? observation));
  return first;
}

/**
 * Sets aside available addresses that another program generated on another chain, according to that chain's list.
 * Returns their number.
 */
export async function setSharedAside(db: LedgerDb): Promise<number> {
  const [set] = await query(
    db,
  )`select engine.set_shared_aside(engine.wallet()) as ${out('aside', number)}`;
  return set?.aside ?? 0;
}

/** Recomputes the use of the addresses from their stored deposits. Repeated calls are harmless. */
export async function recountUse(db: LedgerDb, keys: string[]): Promise<void> {
  await db.execute(sql`select engine.recount_use(${sql.param(keys)}::text[])`);
}

const checkedAtOnce = 2_000;

/**
 * Checks new addresses again, in transactions of its own; the caller repeats it with every pass. A deposit and its
 * address that are stored at the same time do not see each other. The check finds such a deposit at the latest when
 * every transaction of that time has ended.
 */
export async function checkNewAddresses(db: LedgerDb): Promise<void> {
  for (let checked = checkedAtOnce; checked === checkedAtOnce; ) {
    const [row] = await query(db)`select engine.check_new_addresses() as ${out('checked', number)}`;
    checked = row?.checked ?? 0;
  }
}
