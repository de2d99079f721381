import type { TransactionType } from '../../kernel/vocabulary.ts';
import type { TransactionRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { verifyDays } from '../../ledger/lists/coverage-store.ts';
import { unlistRows } from '../../ledger/lists/stream-store.ts';
import {
  beginSightings,
  type Comparison,
  compareListed,
  countBroughtMeanwhile,
  countSightings,
  knownByNow,
  recountStream,
  startOfVerification,
  unmetRows,
} from '../../ledger/lists/verify-store.ts';
import { storeListedTransactions } from '../../ledger/transactions/store-listed-transactions.ts';
import type { WithObservation } from '../streams/stream.ts';
import { transactionStream } from '../streams/sync-transactions.ts';
import type { Progress, SyncContext } from '../sync-context.ts';
import { compareAltered } from './compare-tampered.ts';
import { scanPages } from './scan-pages.ts';

export type Drift = Comparison & {
  name: string;
  compared: number;
  extra: string[];
  /** Rows written by the repair. */
  repaired: number;
  /** Rows that arrived during the comparison or shortly before it; these are no drift. */
  arrivals: number;
};

export type Verification = { signal: AbortSignal; isRepair: boolean; onProgress?: Progress };

type Start = Awaited<ReturnType<typeof startOfVerification>>;

/**
 * Upper bound of the scans. A scan that met fewer rows than the service counts is repeated, and so is the first one
 * that found an extra row.
 */
const scansMax = 4;

/**
 * Reads one transaction list to its end and compares it with the ledger row by row. For rows whose seal shows that
 * another program wrote them, compares the detail as well.
 *
 * The list may change during the scan: rows that arrive are not missing, and rows first seen during it are not extra.
 * With `isRepair` stores missing and different rows, which makes their details due, and marks extra rows as unlisted.
 */
export async function verifyTransactions(
  context: SyncContext,
  type: TransactionType,
  verification: Verification,
): Promise<Drift> {
  const { signal, isRepair } = verification;
  const drift: Drift = {
    name: type,
    compared: 0,
    missing: [],
    different: [],
    extra: [],
    repaired: 0,
    arrivals: 0,
  };
  const { db, release } = await context.ledger.session();
  try {
    const start = await startOfVerification(db, type);
    const comparing: Comparing = {
      db,
      start,
      drift,
      isRepair,
      signal,
      named: new Set(),
      timesOfMissing: new Map(),
      unstorable: 0,
      isRead: false,
    };
    let notMetBefore: Set<string> | null = null;
    for (let scans = 1; scans <= scansMax; scans += 1) {
      await beginSightings(db);
      const { expected, unstorable, isClean } = await scanPages(
        context,
        transactionStream(context, type, 'backlog'),
        verification,
        (rows) => compareBatch(context, type, rows, comparing),
      );
      comparing.unstorable = unstorable;
      drift.compared = await countSightings(db);
      if (drift.compared < expected || !isClean) continue;
      const notMet = await unmetRows(db, type, start.startedAt);
      // A row is extra only if two scans have not met it.
      comparing.isRead = notMet.length === 0 || notMetBefore !== null;
      drift.extra = notMet.filter((orderNo) => notMetBefore?.has(orderNo) ?? false);
      if (comparing.isRead) break;
      notMetBefore = new Set(notMet);
    }
    await settleDrift(context, comparing);
    if (isProof(comparing)) await verifyDays(db, type, drift.arrivals === 0);
  } finally {
    release();
  }
  return drift;
}

type Comparing = {
  db: LedgerDb;
  start: Start;
  drift: Drift;
  isRepair: boolean;
  signal: AbortSignal;
  /** Rows already reported as missing or different. */
  named: Set<string>;
  timesOfMissing: Map<string, number>;
  unstorable: number;
  /** The list was read to its end, and a second scan confirmed the rows that the first did not meet. */
  isRead: boolean;
};

/** Returns true if the ledger now lists exactly the rows that the service lists. */
function isProof({ isRead, isRepair, drift, unstorable }: Comparing): boolean {
  const isEqual = [drift.missing, drift.different, drift.extra].every(({ length }) => length === 0);
  return isRead && unstorable === 0 && (isEqual || isRepair);
}

async function compareBatch(
  context: SyncContext,
  type: TransactionType,
  rows: WithObservation<TransactionRecord>[],
  comparing: Comparing,
): Promise<void> {
  const { db, isRepair, signal, timesOfMissing } = comparing;
  const { altered, ...found } = await compareListed(db, rows);
  addDrift(comparing, found);
  const missing = new Set(found.missing);
  const wrong = new Set([...missing, ...found.different.map(({ orderNo }) => orderNo)]);
  for (const row of rows)
    if (missing.has(row.orderNo)) timesOfMissing.set(row.orderNo, row.occurredAt ?? 0);
  if (altered.length > 0) {
    const different = await compareAltered(context, altered, { signal, isRepair });
    addDrift(comparing, { missing: [], different });
  }
  if (!isRepair || wrong.size === 0) return;
  const mended = rows.filter((row) => wrong.has(row.orderNo));
  await context.ledger.transaction((tx) => storeListedTransactions(tx, type, mended));
}

/** Adds the rows found to the drift. Pages may show a row twice; it is reported once. */
function addDrift({ drift, named }: Comparing, found: Comparison): void {
  drift.missing.push(...found.missing.filter((orderNo) => !named.has(orderNo)));
  drift.different.push(...found.different.filter(({ orderNo }) => !named.has(orderNo)));
  for (const orderNo of found.missing) named.add(orderNo);
  for (const { orderNo } of found.different) named.add(orderNo);
}

async function settleDrift(context: SyncContext, comparing: Comparing): Promise<void> {
  const { db, drift, isRepair } = comparing;
  if (!isRepair) {
    const known = await knownByNow(db, drift.missing);
    drift.missing = drift.missing.filter((orderNo) => !known.has(orderNo));
  }
  drift.arrivals = await countArrivals(comparing);
  drift.missing = withoutArrivals(comparing);
  if (!isRepair) return;
  await context.ledger.transaction(async (tx) => {
    await unlistRows(tx, drift.extra);
    await recountStream(tx, drift.name);
  });
  drift.repaired = drift.missing.length + drift.different.length + drift.extra.length;
}

/**
 * Counts the rows met that the service had not counted at the stream's last pass and no other process has stored since.
 */
async function countArrivals({ db, start, drift, unstorable }: Comparing): Promise<number> {
  if (start.knownTotal === null) return 0;
  const brought = await countBroughtMeanwhile(db, drift.name, start.startedAt, drift.missing);
  return Math.max(0, drift.compared + unstorable - start.knownTotal - brought);
}

/** Removes the newest missing rows that have only just arrived; the next pass brings them. */
function withoutArrivals({ drift, timesOfMissing }: Comparing): string[] {
  const newestFirst = [...drift.missing].sort(
    (a, b) => (timesOfMissing.get(b) ?? 0) - (timesOfMissing.get(a) ?? 0),
  );
  const arrived = new Set(newestFirst.slice(0, drift.arrivals));
  return drift.missing.filter((orderNo) => !arrived.has(orderNo));
}
