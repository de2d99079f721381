import { sql } from 'drizzle-orm';
import { chainForms } from '../../kernel/address-form/chain-forms.ts';
import {
  type Judgement,
  judgeAddresses,
  judgeLeniently,
  judgeReadings,
  readAddress,
} from '../../kernel/address-form/judge-addresses.ts';
import { mapInSlices } from '../../kernel/in-slices.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import { out, pick, query, truth } from '../connection/query-rows.ts';
import { addresses as addressTable } from '../own-tables.ts';
import { fingerprintOf } from '../transactions/reject-identity.ts';
import { storeRejects } from '../transactions/reject-store.ts';

/** Addresses per slice; reading them takes at most 60 ms. */
const addressesInOneGo = 200;

/** Addresses per transaction; a batch holds its row locks for well under a second. */
const batchRows = 2_000;

/**
 * Judges addresses that the service shows for a chain, by their form and by the forms the chain has shown before. Locks
 * the chain's pool if the judgement may stop it. The pool's lock comes before those of the addresses, as in every
 * writer.
 */
export async function judgeShown(
  db: LedgerDb,
  slip44: number,
  addresses: string[],
  { isLenient = false }: { isLenient?: boolean } = {},
): Promise<Judgement[]> {
  const isSeen = await isFormSeen(db, slip44);
  const readings = await mapInSlices(
    addresses,
    addressesInOneGo,
    () => 1,
    (address) => readAddress(slip44, address),
  );
  const judged = isLenient ? judgeLeniently(readings) : judgeReadings(slip44, readings, isSeen);
  const isFirstFit = !isSeen && chainForms.has(slip44) && judged.some(isFitting);
  if (isFirstFit || judged.some(({ refused }) => refused !== null)) await lockPoolRow(db, slip44);
  return judged;
}

/**
 * Judges the misfits among these addresses again, now that they may become available. The list showed them before its
 * chain filter was shown to work. Call it inside a transaction.
 */
export async function judgeMisfits(db: LedgerDb, slip44: number, keys: string[]): Promise<void> {
  const misfits = await query(db)`
    select ${pick({ address })} from own.addresses
     where slip44 = ${slip44} and form = 'misfit' and address_key = any(${sql.param(keys)}::text[])
     order by address_key`;
  if (misfits.length === 0) return;
  const judged = await judgeShown(db, slip44, textsOf(misfits));
  await storeJudgements(db, slip44, judged);
  await noteRefused(db, slip44, judged);
}

const { slip44: chain, address, refused, status } = addressTable;

const textsOf = (rows: { address: string }[]) => rows.map((row) => row.address);

function isFitting({ form }: Judgement): boolean {
  return form === 'proven' || form === 'plain';
}

async function isFormSeen(db: LedgerDb, slip44: number): Promise<boolean> {
  if (!chainForms.has(slip44)) return false;
  const [found] = await query(db)`
    select exists (select from own.addresses where slip44 = ${slip44} and form in ('proven', 'plain')) as ${out('seen', truth)}`;
  return found?.seen ?? false;
}

/**
 * Stores refused addresses as rejects, and stops generating for the chain. Call it in the transaction that stores the
 * addresses, after the pool's lock.
 */
export async function noteRefused(
  db: LedgerDb,
  slip44: number,
  judged: readonly Judgement[],
): Promise<void> {
  const rejects = judged.flatMap((each) => (each.refused === null ? [] : [rejectOf(slip44, each)]));
  if (rejects.length === 0) return;
  await storeRejects(db, rejects);
  await db.execute(sql`
    update own.pools set refused_at = now() where slip44 = ${slip44} and refused_at is null`);
}

async function lockPoolRow(db: LedgerDb, slip44: number): Promise<void> {
  await db.execute(sql`select from own.pools where slip44 = ${slip44} for update`);
}

function rejectOf(slip44: number, row: Pick<Judgement, 'address' | 'refused'>): Reject {
  return {
    source: 'address-list',
    orderNo: null,
    field: 'address',
    reason: `address is ${row.refused} (chain ${slip44})`,
    payload: JSON.stringify({ address: row.address, slip44 }),
  };
}

/**
 * Judges the wallet's stored addresses without a judgement, which an earlier version of the program left. Returns the
 * number of refused ones; none of them is available any more.
 */
export async function judgeStored(ledger: Pick<Ledger, 'transaction'>): Promise<number> {
  for (let refused = 0; ; ) {
    const batch = await ledger.transaction(judgeBatch);
    if (batch === null) return refused;
    refused += batch;
  }
}

/**
 * Judges the next unjudged addresses of one chain. Returns the number of refused ones, or null if none are left to
 * judge.
 */
async function judgeBatch(db: LedgerDb): Promise<number | null> {
  const [next] = await query(db)`
    select ${pick({ slip44: chain, status })} from own.addresses
     where form is null and refused is null order by slip44, address limit 1`;
  if (next === undefined) return null;
  const { slip44 } = next;
  const isForeign = next.status === 'foreign';
  const unjudged = await query(db)`
    select ${pick({ address })} from own.addresses
     where form is null and refused is null and slip44 = ${slip44} and (status = 'foreign') = ${isForeign}
     order by address limit ${batchRows}`;
  // Judges foreign addresses leniently: they may come from a list that did not filter by chain.
  const judged = await judgeShown(db, slip44, textsOf(unjudged), { isLenient: isForeign });
  await storeJudgements(db, slip44, judged);
  await noteRefusals(db, slip44, judged);
  return judged.filter(({ refused }) => refused !== null).length;
}

/**
 * Stores the judgements; with `misfitsOnly` only those of stored misfits. An available address that is refused becomes
 * foreign.
 */
export async function storeJudgements(
  db: LedgerDb,
  slip44: number,
  judged: readonly Judgement[],
  { misfitsOnly = false }: { misfitsOnly?: boolean } = {},
): Promise<void> {
  await db.execute(sql`
with ${judgements(judged)},
locked as (
  select a.address_key, j.form, j.refused
    from judged j join own.addresses a on a.slip44 = ${slip44} and a.address_key = ledger.address_key(j.address)
   where a.form = 'misfit' or not ${misfitsOnly}
   order by a.address_key for update of a
)
update own.addresses a
   set form = l.form, refused = l.refused,
       status = case when l.refused is not null and a.status = 'available' then 'foreign' else a.status end
  from locked l
 where a.slip44 = ${slip44} and a.address_key = l.address_key`);
}

/** Stores the refused addresses, and refuses strange ones if an address fits the form. Call it as `noteRefused`. */
export async function noteRefusals(
  db: LedgerDb,
  slip44: number,
  judged: readonly Judgement[],
): Promise<void> {
  await noteRefused(db, slip44, judged);
  await refuseStrange(db, slip44, judged);
}

/** Returns the judgements as a CTE with the name `judged`. */
export function judgements(judged: readonly Judgement[]) {
  const column = (name: keyof Judgement) =>
    sql`${sql.param(judged.map((each) => each[name]))}::text[]`;
  return sql`judged as materialized (
  select * from unnest(${column('address')}, ${column('form')}, ${column('refused')}) as j (address, form, refused)
)`;
}

/**
 * Refuses the strange addresses if one of the judged addresses fits the chain's form. They were accepted while none
 * did. Call it after `noteRefused`.
 */
export async function refuseStrange(
  db: LedgerDb,
  slip44: number,
  judged: readonly Judgement[],
): Promise<void> {
  if (!judged.some(isFitting)) return;
  const found = await query(db)`
    select ${pick({ address })} from own.addresses where slip44 = ${slip44} and form = 'strange' order by address_key`;
  if (found.length === 0) return;
  const chainName = chainForms.get(slip44)?.chain;
  const strange = found.map(({ address }): Judgement => {
    const refused = `not an address of ${chainName}, although other addresses of the chain have its form`;
    return { address, form: null, refused };
  });
  await storeJudgements(db, slip44, strange);
  await noteRefused(db, slip44, strange);
}

/**
 * Judges refused addresses again, for example after an update of the program. One that fits now is an ordinary foreign
 * address. If the chain has no refused address left, generating resumes. Call it inside a transaction.
 */
export async function judgeRefusedAgain(db: LedgerDb, addresses: string[]): Promise<void> {
  const found = await query(db)`
    select ${pick({ slip44: chain, address })} from own.addresses
     where address_key in (select ledger.address_key(i) from unnest(${sql.param(addresses)}::text[]) as i)
       and refused is not null order by slip44, address_key`;
  for (const { slip44, address } of found) {
    const [judged] = judgeAddresses(slip44, [address], true);
    if (!judged || judged.refused !== null) continue;
    await lockPoolRow(db, slip44);
    await storeJudgements(db, slip44, [judged]);
    await db.execute(sql`
      update own.pools set refused_at = null
       where slip44 = ${slip44}
         and not exists (select from own.addresses where slip44 = ${slip44} and refused is not null)`);
  }
}

/**
 * Resumes generating after the operator's acknowledgement, and resolves the rejects of the chain's refused addresses.
 */
export async function resumePool(db: LedgerDb, slip44: number): Promise<void> {
  await lockPoolRow(db, slip44);
  await db.execute(sql`update own.pools set refused_at = null where slip44 = ${slip44}`);
  const all = await query(db)`
    select ${pick({ address, refused })} from own.addresses where slip44 = ${slip44} and refused is not null`;
  const fingerprints = all.map((row) => fingerprintOf(rejectOf(slip44, row)));
  await db.execute(sql`
    update own.rejects set resolved_at = now()
     where resolved_at is null and fingerprint = any(${sql.param(fingerprints)}::text[])`);
}
