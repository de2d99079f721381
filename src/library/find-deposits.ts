import type { Ask } from './ask-database.ts';
import type { Deposit, TransactionEvent } from './ledger-event.ts';

/**
 * Deposits to wait for: those of the reference that an address was handed out for, or those to an address in any
 * spelling.
 */
export type DepositOf = { reference: string } | { address: string };

/** Deposit to look for. `wallet` null: of any wallet. */
export type Wanted = { of: DepositOf; wallet: string | null; until: 'seen' | 'final' };

/** Event of a deposit, and those of the wanted addresses that its recipient matches in another spelling. */
export type FoundEvent = { event: TransactionEvent; addresses: string[] };

/** Returns the events after `after`, up to `head`, of deposits that may match one of these, oldest first. */
export async function readDeposits(
  ask: Ask,
  wanted: Pick<Wanted, 'of'>[],
  { after, head }: { after: number; head: number },
): Promise<FoundEvent[]> {
  const references = wanted.flatMap(({ of }) => ('reference' in of ? [of.reference] : []));
  const addresses = wanted.flatMap(({ of }) => ('address' in of ? [of.address] : []));
  const rows = await ask<{ event: string; addresses: string[] }>(
    `with wanted as materialized (
       select w.address, ledger.key_of_address(w.address) as key from (select distinct unnest($4::text[])) as w (address))
     select json_build_object('seq', e.seq, 'wallet', e.wallet, 'kind', e.kind, 'key', e.key, 'data', e.data)::text as event,
            array(select w.address from wanted w where w.key = r.key) as addresses
       from ledger.events e
      cross join lateral (
            select case when cardinality($4::text[]) > 0 then ledger.key_of_address(e.data ->> 'to_address') end as key) as r
      where e.seq > $1 and e.seq <= $2 and e.kind like 'transaction.%' and e.data ->> 'stream' = 'deposit'
        and (e.data ->> 'reference' = any ($3) or r.key in (select w.key from wanted w))
      order by e.seq`,
    [after, head, references, addresses],
  );
  return rows.map((row) => ({ ...row, event: JSON.parse(row.event) as TransactionEvent }));
}

/** Returns the first deposit whose event ends the wait, unless a later event took it back. */
export function findDeposit(found: FoundEvent[], { of, wallet, until }: Wanted): Deposit | null {
  const own = found
    .filter((each) => isTo(of, each) && (wallet === null || each.event.wallet === wallet))
    .map(({ event }) => event);
  const first = own.find(({ kind, key, wallet: place }) => {
    if (kind !== `transaction.${until}` && kind !== 'transaction.relisted') return false;
    const { data } = latestOf(own, key, place) ?? {};
    return data?.is_listed && (until === 'seen' || data.is_final);
  });
  const latest = first && latestOf(own, first.key, first.wallet);
  return first && latest ? { ...latest.data, seq: first.seq, wallet: first.wallet } : null;
}

function isTo(of: DepositOf, { event, addresses }: FoundEvent): boolean {
  if ('reference' in of) return event.data.reference === of.reference;
  return addresses.includes(of.address);
}

function latestOf(events: TransactionEvent[], key: string, wallet: string) {
  return events.findLast((event) => event.key === key && event.wallet === wallet);
}
