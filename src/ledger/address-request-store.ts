import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connect-ledger.ts';

/** Writes a request down before it is sent; the index on open requests lets no second one in. Returns its id. */
export async function openRequest(
  db: LedgerDb,
  slip44: number,
  num: number,
  owner: string,
): Promise<number> {
  const opened = await db.execute<{ id: string }>(sql`
    insert into ledger.address_requests (slip44, num, state, requested_at, owner)
    values (${slip44}, ${num}, 'sent', now(), ${owner}) returning id`);
  return Number(opened.rows[0]?.id);
}

/**
 * The answer is lost: from now on the address list must tell. The chain asks for `numMax` at the most from then
 * on, and its list settles twice as long. Call it inside a transaction.
 */
export async function loseRequest(
  db: LedgerDb,
  id: number,
  { error, numMax }: { error: string; numMax: number },
): Promise<void> {
  await lockPoolOf(db, id);
  await db.execute(sql`
    with lost as (
      update ledger.address_requests set state = 'unknown', lost_at = now(), error = ${error}
       where id = ${id} and state = 'sent' returning slip44)
    update ledger.pools p set losses = p.losses + 1, num_max = least(p.num_max, ${numMax})
      from lost l where p.slip44 = l.slip44`);
}

/** Who plans locks the pool before its requests; who closes one does it in the same order, and cannot deadlock. */
export async function lockPoolOf(db: LedgerDb, id: number): Promise<void> {
  await db.execute(sql`
    select from ledger.pools
     where slip44 = (select slip44 from ledger.address_requests where id = ${id}) for update`);
}

/**
 * The service refused for certain; the chain waits `delayMs`, and then asks for `numMax` at the most
 * and for no more than before. Call it inside a transaction.
 */
export async function failRequest(
  db: LedgerDb,
  id: number,
  refusal: { error: string; delayMs: number; numMax: number },
): Promise<void> {
  await lockPoolOf(db, id);
  await db.execute(sql`
    with failed as (
      update ledger.address_requests set state = 'failed', finished_at = now(), received = 0, error = ${refusal.error}
       where id = ${id} and state = 'sent' returning slip44)
    update ledger.pools p
       set refusals = p.refusals + 1, next_try_at = now() + ${refusal.delayMs} * interval '1 millisecond',
           num_max = least(p.num_max, ${refusal.numMax}),
           last_error = ${refusal.error}, last_error_at = now()
      from failed f where p.slip44 = f.slip44`);
}

/** Notes that the list was read to its end after the answer was lost or put off. */
export async function noteListRead(db: LedgerDb, id: number): Promise<void> {
  await db.execute(sql`
    update ledger.address_requests set list_read_at = now() where id = ${id} and state = 'unknown' and list_read_at is null`);
}

/** Chains with a request whose end is not known yet. */
export async function chainsInDoubt(db: LedgerDb): Promise<number[]> {
  const found = await db.execute<{ slip44: number }>(sql`
    select slip44 from ledger.address_requests where state in ('sent', 'unknown') order by slip44`);
  return found.rows.map(({ slip44 }) => slip44);
}
