import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, out, query, text } from '../connection/query-rows.ts';

/** A line of the operator's list: an address that was handed out. `reference` is null if no recipient is named. */
export type HandedOut = { line: number; slip44: number; address: string; reference: string | null };

export type BadLine = { line: number; reason: string };

/**
 * Compares the list with the ledger. Returns the lines with an unknown address, and the lines that contradict an
 * assignment or another line. The caller must not store the returned lines. Locks the addresses until the transaction
 * ends.
 */
export async function findContradictions(db: LedgerDb, list: HandedOut[]): Promise<BadLine[]> {
  await db.execute(sql`
    select from own.addresses
     where address_key = any(array(select ledger.address_key(l) from unnest(${sql.param(list.map(({ address }) => address))}::text[]) as l))
     order by address_key, slip44 for update`);
  return await query(db)`
with ${matched(list)}
select m.line as ${out('line', number)}, format('chain %s has no address %s; run \`wallet-ledger sync addresses\` first, it may have been generated after the backup', m.slip44, m.given) as ${out('reason', text)}
  from matched m where m.address is null
union all
select m.line, format('%s is assigned to %s%s, and the file says %s', m.address, a.assigned_to,
                      case when a.slip44 <> m.slip44 then ' on chain ' || a.slip44 else '' end, m.reference)
  from matched m join own.addresses a on a.address_key = m.address_key and a.assigned_to <> m.reference
union all
select m.line, format('%s is given to %s here, and to %s on line %s', m.address, m.reference, o.reference, o.line)
  from matched m join matched o on o.address_key = m.address_key and o.reference <> m.reference and o.line < m.line
 order by line`;
}

/**
 * Marks the addresses of the list as assigned, on every chain that has them. An address with a deposit stays used.
 * Returns the number of changed rows on the chains that the list names.
 */
export async function markHandedOut(db: LedgerDb, list: HandedOut[]): Promise<number> {
  const marked = await db.execute(sql`
with ${matched(list)},
named as (
  select m.slip44, m.address_key, max(m.reference) as reference, min(m.line) as line
    from matched m group by m.slip44, m.address_key
),
numbered as (
  select n.slip44, n.address_key, n.reference,
         (select coalesce(max(a.assigned_no), 0) from own.addresses a
           where a.slip44 = n.slip44 and a.assigned_to = n.reference)
           + row_number() over (partition by n.slip44, n.reference order by n.line) as number
    from named n
),
elsewhere as (
  update own.addresses a
     set status = case when a.status = 'used' then 'used' else 'assigned' end,
         assigned_to = coalesce(a.assigned_to, n.reference), assigned_at = coalesce(a.assigned_at, now()),
         set_aside_epoch = null
    from (select address_key, max(reference) as reference from named group by address_key) n
   where a.address_key = n.address_key and a.assigned_at is null
     and not exists (select from named x where x.slip44 = a.slip44 and x.address_key = a.address_key)
)
update own.addresses a
   set status = case when a.status = 'used' then 'used' else 'assigned' end,
       assigned_to = coalesce(a.assigned_to, n.reference), assigned_at = coalesce(a.assigned_at, now()),
       assigned_no = case when n.reference is not null then coalesce(a.assigned_no, n.number) end,
       set_aside_epoch = null
  from numbered n
 where a.slip44 = n.slip44 and a.address_key = n.address_key
   and (a.status not in ('assigned', 'used') or a.assigned_at is null or a.assigned_to is null and n.reference is not null)`);
  return marked.rowCount ?? 0;
}

/** Query that joins the list with the ledger's rows, in any spelling. */
function matched(list: HandedOut[]) {
  const column = (name: keyof HandedOut) => sql`${sql.param(list.map((one) => one[name]))}`;
  return sql`
matched as materialized (
  select l.line, l.slip44, l.address as given, l.reference, a.address, a.address_key
    from unnest(${column('line')}::int[], ${column('slip44')}::int[], ${column('address')}::text[], ${column('reference')}::text[])
           as l (line, slip44, address, reference)
    left join own.addresses a on a.slip44 = l.slip44 and a.address_key = ledger.address_key(l.address)
)`;
}
