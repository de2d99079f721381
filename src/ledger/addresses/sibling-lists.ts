import { maySpellAlike } from '../../kernel/address-form/chain-forms.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, out, query, truth } from '../connection/query-rows.ts';

/**
 * Other chains that may share addresses with a chain. `unread`: their lists have not been read to their end since the
 * database moved. `old`: they have a pool, and their lists were last read too long ago for a new request.
 */
export type SiblingLists = { unread: number[]; old: number[] };

/** Age (s) from which a list is read again before addresses are requested for another chain. */
const oldSeconds = 5;

/**
 * Returns the lists of the chains that may share addresses with this one. A custodian may derive the n-th address of
 * several chains from one key. So addresses that were generated and handed out on another chain at the previous home
 * may be missing here until its list is read, and an answer for this chain would make one of them available. Each move
 * makes all lists unread; before the first one (`hasMoved`) none is.
 *
 * A chain whose addresses have a form of the service's own counts as one of unknown form. Without a move, another
 * program may have generated addresses of another chain that an answer for this one would bring again. The service may
 * no longer list a chain without a pool. So its list is not awaited once an operator has recorded for all moves which
 * addresses of the wallet were handed out.
 */
export async function readSiblingLists(
  db: LedgerDb,
  slip44: number,
  hasMoved: boolean,
): Promise<SiblingLists> {
  const chains = await query(db)`
with recursive known (slip44) as (
  (select a.slip44 from own.addresses a order by a.slip44 limit 1)
  union all
  select (select a.slip44 from own.addresses a where a.slip44 > k.slip44 order by a.slip44 limit 1)
    from known k where k.slip44 is not null
),
chains as (
  select slip44 from known where slip44 is not null
  union select slip44 from own.pools
  union select substr(name, 11)::integer from own.streams where name like 'addresses:%'
)
select c.slip44 as ${out('slip44', number)}, coalesce(s.is_backed, false)
         or not exists (select from own.pools p where p.slip44 = c.slip44)
            and not exists (select from engine.moves m
                             where m.acknowledged_at is null and engine.wallet() <> all (m.recorded_for)) as ${out('isRead', truth)},
       exists (select from own.addresses a where a.slip44 = c.slip44 and a.form = 'strange') as ${out('isStrange', truth)},
       not coalesce(s.is_backed and s.last_success_at > now() - ${oldSeconds} * interval '1 second', false)
         and exists (select from own.pools p where p.slip44 = c.slip44 and p.target > 0) as ${out('isOld', truth)}
  from chains c left join own.streams s on s.name = 'addresses:' || c.slip44
 order by c.slip44`;
  const isOwnStrange = chains.some((each) => each.slip44 === slip44 && each.isStrange);
  const isSibling = (each: { slip44: number; isStrange: boolean }) =>
    each.slip44 !== slip44 &&
    (isOwnStrange || each.isStrange || maySpellAlike(slip44, each.slip44));
  const siblings = chains.filter(isSibling);
  return {
    unread: siblings.filter(({ isRead }) => hasMoved && !isRead).map((each) => each.slip44),
    old: siblings.filter(({ isOld }) => isOld).map((each) => each.slip44),
  };
}
