import { addressKey } from './address-spelling.ts';
import type { Ask } from './ask-database.ts';
import type { Deposit, TransactionEvent } from './ledger-event.ts';

/** Whose deposit: by the reference that its address was handed out for, or by the address in any spelling. */
export type DepositOf = { reference: string } | { address: string };

/** Deposit to look for. `wallet` null: of any wallet. */
export type Wanted = { of: DepositOf; wallet: string | null; until: 'seen' | 'final' };

/** Returns the events behind `after`, up to `head`, of deposits that one of these may want, oldest first. */
export async function readDeposits(
  ask: Ask,
  wanted: Pick<Wanted, 'of'>[],
  { after, head }: { after: number; head: number },
): Promise<TransactionEvent[]> {
  const references = wanted.flatMap(({ of }) => ('reference' in of ? [of.reference] : []));
  const keys = wanted.flatMap(({ of }) => ('address' in of ? [addressKey(of.address)] : []));
  const rows = await ask<{ event: string }>(
    `select json_build_object('seq', e.seq, 'wallet', e.wallet, 'kind', e.kind, 'key', e.key, 'data', e.data)::text as event
       from ledger.events e
      where e.seq > $1 and e.seq <= $2 and e.kind like 'transaction.%' and e.data ->> 'stream' = 'deposit'
        and (e.data ->> 'reference' = any ($3)
             or cardinality($4::text[]) > 0 and regexp_replace(lower(btrim(e.data ->> 'to_address', E' \\t\\r\\n\\f\\v')),
                  '^(0x|bitcoincash:|bchtest:|bchreg:|ecash:|ectest:|simpleledger:|slptest:|etoken:)', '') = any ($4))
      order by e.seq`,
    [after, head, references, keys.map((key) => key.toLowerCase())],
  );
  return rows.map(({ event }) => JSON.parse(event) as TransactionEvent);
}

/** Returns the first deposit whose event ends the wait, unless a later event took it back. */
export function findDeposit(
  events: TransactionEvent[],
  { of, wallet, until }: Wanted,
): Deposit | null {
  const isTo = recipientTest(of);
  const own = events.filter((event) => isTo(event) && (wallet === null || event.wallet === wallet));
  const first = own.find(({ kind, key, wallet: place }) => {
    if (kind !== `transaction.${until}` && kind !== 'transaction.relisted') return false;
    const { data } = latestOf(own, key, place) ?? {};
    return data?.is_listed && (until === 'seen' || data.is_final);
  });
  const latest = first && latestOf(own, first.key, first.wallet);
  return first && latest ? { ...latest.data, seq: first.seq, wallet: first.wallet } : null;
}

function recipientTest(of: DepositOf): (event: TransactionEvent) => boolean {
  if ('reference' in of) return ({ data }) => data.reference === of.reference;
  const key = addressKey(of.address);
  return ({ data }) => data.to_address !== null && addressKey(data.to_address) === key;
}

function latestOf(events: TransactionEvent[], key: string, wallet: string) {
  return events.findLast((event) => event.key === key && event.wallet === wallet);
}
