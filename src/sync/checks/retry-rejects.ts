import { transactionTypes } from '../../kernel/vocabulary.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import { judgeRefusedAgain } from '../../ledger/addresses/refused-addresses.ts';
import type { Ledger, LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { StoredMeanwhile } from '../../ledger/connection/run-transaction.ts';
import { storeBalances } from '../../ledger/snapshots/balance-store.ts';
import { storeCoins } from '../../ledger/snapshots/coin-store.ts';
import { fillTransactions } from '../../ledger/transactions/fill-transactions.ts';
import {
  knownAddresses,
  type OpenReject,
  outlivedRejects,
  readOpenRejects,
  resolveUnchanged,
} from '../../ledger/transactions/reject-store.ts';
import { storeListedTransactions } from '../../ledger/transactions/store-listed-transactions.ts';
import { findingByKey } from '../../ledger/transactions/transaction-statement.ts';
import { decodePayload } from '../../service/decoding/decode-payload.ts';

/** Number of rejects per database transaction. */
const batchRejects = 200;
/** Observation for a payload of unknown age: lower than that of any answer, so that every answer overwrites it. */
const oldest = 0;

/**
 * Decodes the payloads of open rejects again (`ids` null: all) and stores the readable ones. The payloads are old: they
 * add missing rows and fill empty fields, and never replace a value. `now` is in Unix ms. Returns the ids of the
 * rejects that are now resolved, and of those that stay open.
 */
export async function retryRejects(
  ledger: Ledger,
  ids: number[] | null,
  now: number,
): Promise<{ resolved: number[]; open: number[] }> {
  const outcome: { resolved: number[]; open: number[] } = { resolved: [], open: [] };
  for (let after = 0; ; ) {
    const batch = await ledger.transaction(async (db) => {
      const rejects = await readOpenRejects(db, { after, limit: batchRejects, ids });
      const settled = new Set(await settle(db, rejects, now));
      const resolved = await resolveUnchanged(
        db,
        rejects.filter(({ id }) => settled.has(id)),
      );
      // Throws if the payloads that were read are no longer the latest ones.
      if (resolved.length < settled.size) throw new StoredMeanwhile();
      return { rejects, settled };
    }, findingByKey);
    for (const { id } of batch.rejects)
      outcome[batch.settled.has(id) ? 'resolved' : 'open'].push(id);
    const last = batch.rejects.at(-1);
    if (!last) return outcome;
    after = last.id;
  }
}

/**
 * Stores the readable payloads. Returns the ids of their rejects, and of the rejects that a later answer has made
 * obsolete.
 */
async function settle(db: LedgerDb, rejects: OpenReject[], now: number): Promise<number[]> {
  return [
    ...(await settleTransactions(db, rejects, now)),
    ...(await settleSnapshots(db, rejects, now)),
    ...(await settleAddresses(db, rejects, now)),
    ...(await outlivedRejects(
      db,
      rejects.map(({ id }) => id),
    )),
  ];
}

async function settleTransactions(db: LedgerDb, rejects: OpenReject[], now: number) {
  const readable = rejects.flatMap((reject) => {
    const { id, source, payload } = reject;
    if (source === 'transaction-list') {
      const record = fitting(reject, decodePayload(source, payload, now));
      const row = { confirmNum: null, fee: null, feeSymbol: null, ...record, observation: oldest };
      return record ? [{ id, row: { ...row, ...record } }] : [];
    }
    if (source !== 'transaction-detail') return [];
    const record = fitting(reject, decodePayload(source, payload, now));
    return record ? [{ id, row: { ...record, observation: oldest } }] : [];
  });
  if (readable.length === 0) return [];
  const rows = readable.map(({ row }) => row);
  // The reject does not record its list, so a row of any other type cannot be assigned to one.
  for (const stream of transactionTypes) {
    const typed = rows.filter(({ type }) => type?.trim().toLowerCase() === stream);
    await storeListedTransactions(db, stream, typed);
  }
  const known = await fillTransactions(db, rows);
  return readable.filter(({ row }) => known.has(row.orderNo)).map(({ id }) => id);
}

/** Stores the rows that no snapshot has brought yet; newer snapshots keep their own values. */
async function settleSnapshots(db: LedgerDb, rejects: OpenReject[], now: number) {
  const settled: number[] = [];
  for (const reject of rejects) {
    if (reject.source === 'coin-list') {
      const coin = fitting(reject, decodePayload(reject.source, reject.payload, now));
      if (!coin) continue;
      await storeCoins(db, [coin], oldest, false);
      settled.push(reject.id);
    }
    if (reject.source === 'balance-list') {
      const balance = fitting(reject, decodePayload(reject.source, reject.payload, now));
      if (!balance) continue;
      await storeBalances(db, [balance], oldest, false);
      settled.push(reject.id);
    }
  }
  return settled;
}

/**
 * Resolves rejects of addresses that the ledger knows by now. The payload does not name the chain, so only reading the
 * list again brings the address.
 */
async function settleAddresses(db: LedgerDb, rejects: OpenReject[], now: number) {
  const readable = rejects.flatMap((reject) => {
    if (reject.source !== 'address-list') return [];
    const record = fitting(reject, decodePayload(reject.source, reject.payload, now));
    return record ? [{ id: reject.id, address: record.address }] : [];
  });
  if (readable.length === 0) return [];
  const addresses = readable.map(({ address }) => address);
  await judgeRefusedAgain(db, addresses);
  const known = await knownAddresses(db, addresses);
  return readable.filter(({ address }) => known.has(address)).map(({ id }) => id);
}

/**
 * Returns the record if the rejected field is now readable. A reject without a field came from PostgreSQL or concerns
 * the whole row, so it stays open.
 */
function fitting<R>(
  { field }: OpenReject,
  decoded: { records: R[]; rejects: Reject[] } | null,
): R | null {
  const [record] = decoded?.records ?? [];
  if (!record || field === null) return null;
  return decoded?.rejects.some((reject) => reject.field === field) ? null : record;
}
