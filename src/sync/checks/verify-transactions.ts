import type { TransactionType } from '../../kernel/vocabulary.ts';
import type { Reject, TransactionRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { verifyDays } from '../../ledger/lists/coverage-store.ts';
import { recountStream } from '../../ledger/lists/recount-list.ts';
import { unlistRows } from '../../ledger/lists/stream-store.ts';
import {
  type Comparison,
  compareListed,
  daysOfRows,
  doubtWhileRepaired,
  endRepair,
  startOfVerification,
  unmetRows,
} from '../../ledger/lists/verify-store.ts';
import { closeAnsweredRejects } from '../../ledger/transactions/close-rejects.ts';
import { storeListedTransactions } from '../../ledger/transactions/store-listed-transactions.ts';
import { findingByKey } from '../../ledger/transactions/transaction-statement.ts';
import { orderOf } from '../list/list-state.ts';
import { dayMs } from '../list/read-days.ts';
import type { WithObservation } from '../streams/stream.ts';
import { transactionStream } from '../streams/sync-transactions.ts';
import type { Progress, SyncContext } from '../sync-context.ts';
import { compareAltered } from './compare-tampered.ts';
import { confirmDrift, confirmedMax, type Suspects } from './confirm-drift.ts';
import { type Drift, emptyDrift } from './drift.ts';
import { explainUnshown } from './explain-unshown.ts';
import type { ListEnd } from './read-list-end.ts';
import { repeatScans } from './repeat-scans.ts';
import { type PagesScan, scanPages } from './scan-pages.ts';
import { noteDrift, type Places, settleProof } from './settle-proof.ts';
import { createUnreadableRows, type UnreadableRows } from './unreadable-rows.ts';

export type Verification = { signal: AbortSignal; isRepair: boolean; onProgress?: Progress };

/**
 * Reads one transaction list to its end and compares it with the ledger row by row. For rows whose seal shows that
 * another program wrote them, compares the detail as well. `end`: the list's end before anything was compared.
 *
 * The list may change during the scan: rows that provably arrived since are not missing, and rows first seen during it
 * are not extra. What differs is compared once more at the end, because another process may have stored it meanwhile.
 * With `isRepair` stores missing and different rows, which makes their details due, and marks extra rows as unlisted.
 */
export async function verifyTransactions(
  context: SyncContext,
  type: TransactionType,
  verification: Verification,
  end: ListEnd,
): Promise<Drift> {
  const { signal, isRepair } = verification;
  const drift = emptyDrift(type);
  const { db, release } = await context.ledger.session();
  const stream = transactionStream(context, type, 'backlog');
  try {
    const start = await startOfVerification(db, type);
    const comparing: Comparing = {
      ...{ db, drift, isRepair, signal, end },
      named: new Set(),
      timesOfMissing: new Map(),
      suspects: new Map(),
      unreadable: createUnreadableRows(db),
      unrepaired: new Set(),
      scan: null,
      isRead: false,
    };
    const { scan, isRead, ...found } = await repeatScans(db, {
      read: () =>
        scanPages(context, stream, verification, (...batch) =>
          compareBatch(context, type, batch, comparing),
        ),
      unmet: (by) => unmetRows(db, type, start.startedAt, by),
      signal,
    });
    Object.assign(comparing, { scan, isRead });
    Object.assign(drift, found, { isEndRefused: scan.isEndRefused });
    await settleDrift(context, comparing);
    if (isProof(comparing)) {
      await endRepair(db, type);
      await verifyDays(db, type, drift.arrivals === 0);
    }
    await noteDrift(context, stream, await placesOf(comparing), signal);
    await settleProof(context, stream, {
      ...{ scan: provingScan(comparing), signal },
      ...{ passesBefore: start.passes, mayRead: isRepair },
    });
    const missingOf = async (rows: Batch[0]) => (await compareListed(db, rows)).missing;
    Object.assign(drift, await explainUnshown(context, drift, { db, stream, missingOf, signal }));
  } finally {
    release();
  }
  return drift;
}

type Comparing = {
  db: LedgerDb;
  drift: Drift;
  end: ListEnd;
  isRepair: boolean;
  signal: AbortSignal;
  /** Rows already reported as missing or different. */
  named: Set<string>;
  timesOfMissing: Map<string, number>;
  suspects: Suspects;
  unreadable: UnreadableRows;
  /** Rows that the repair did not make equal, for example one that the service shows in both lists. */
  unrepaired: Set<string>;
  /** The last scan; null before it has ended. */
  scan: PagesScan | null;
  /** The list was read to its end, and the last two scans have not met the same rows of the ledger. */
  isRead: boolean;
};

/** Returns true if the ledger now lists exactly the rows that the service lists. */
function isProof({ isRead, isRepair, drift, scan, unrepaired }: Comparing): boolean {
  const isEqual = [drift.missing, drift.different, drift.extra].every(({ length }) => length === 0);
  const isRepaired = isRepair && unrepaired.size === 0;
  return isRead && scan?.walk.unstorable === 0 && (isEqual || isRepaired);
}

/** Returns the scan that met each row that the service counts, and no other than the ledger now lists. */
function provingScan(comparing: Comparing): PagesScan | null {
  const { scan, drift, isRepair } = comparing;
  const isCounted = scan !== null && scan.state.serviceTotal === drift.compared;
  // Without a repair the ledger lacks the rows that have arrived.
  const isHeld = isRepair || drift.arrivals === 0;
  return isCounted && isHeld && isProof(comparing) ? scan : null;
}

/** Rows of one batch, and the rejects of its pages. */
type Batch = [rows: WithObservation<TransactionRecord>[], rejects: Reject[]];

async function compareBatch(
  context: SyncContext,
  type: TransactionType,
  [rows, rejects]: Batch,
  comparing: Comparing,
): Promise<void> {
  const { db, isRepair, timesOfMissing, suspects, unreadable } = comparing;
  const { altered, ...found } = await compareListed(db, rows);
  addDrift(comparing, found);
  const missing = new Set(found.missing);
  const differing = new Set(found.different.map(({ orderNo }) => orderNo));
  const wrong = new Set([...missing, ...differing]);
  for (const row of rows)
    if (missing.has(row.orderNo)) timesOfMissing.set(row.orderNo, row.occurredAt ?? 0);
  const equal = rows.filter(({ orderNo }) => !wrong.has(orderNo));
  await context.ledger.transaction(async (tx) => {
    await closeAnsweredRejects(tx, 'transaction-list', equal, rejects);
  });
  for (const orderNo of await compareByDetail(context, [equal, altered], comparing))
    differing.add(orderNo);
  const differingRows = rows.filter(({ orderNo }) => differing.has(orderNo));
  for (const row of differingRows.slice(0, confirmedMax - suspects.size))
    suspects.set(row.orderNo, row);
  const repaired = isRepair ? rows.filter((row) => wrong.has(row.orderNo)) : [];
  if (repaired.length > 0) await repair(context, type, [repaired, rejects], comparing);
  await unreadable.note(rows);
}

/**
 * Compares the details of altered rows, and of rows that the list does not show readably. Returns the altered ones that
 * differ: the list cannot confirm a difference of a field that it does not show readably.
 */
async function compareByDetail(
  context: SyncContext,
  [rows, altered]: [TransactionRecord[], string[]],
  comparing: Comparing,
): Promise<string[]> {
  const asked = new Set([...altered, ...(await comparing.unreadable.askable(rows))]);
  if (asked.size === 0) return [];
  const different = await compareAltered(context, [...asked], comparing);
  addDrift(comparing, { missing: [], different });
  const found = new Set(different.map(({ orderNo }) => orderNo));
  return altered.filter((orderNo) => found.has(orderNo));
}

async function repair(
  context: SyncContext,
  type: TransactionType,
  [rows, rejects]: Batch,
  { db, unrepaired }: Comparing,
): Promise<void> {
  await context.ledger.transaction(async (tx) => {
    await storeListedTransactions(tx, type, rows);
    await closeAnsweredRejects(tx, 'transaction-list', rows, rejects);
    await doubtWhileRepaired(tx, type);
  }, findingByKey);
  const left = await compareListed(db, rows);
  for (const orderNo of [...left.missing, ...left.different.map((row) => row.orderNo)])
    unrepaired.add(orderNo);
}

/** Adds the rows found to the drift. Pages may show a row twice; it is reported once. */
function addDrift({ drift, named }: Comparing, found: Comparison): void {
  drift.missing.push(...found.missing.filter((orderNo) => !named.has(orderNo)));
  drift.different.push(...found.different.filter(({ orderNo }) => !named.has(orderNo)));
  for (const orderNo of found.missing) named.add(orderNo);
  for (const { orderNo } of found.different) named.add(orderNo);
}

async function settleDrift(context: SyncContext, comparing: Comparing): Promise<void> {
  const { db, drift, isRepair, end, scan, suspects, signal, unreadable } = comparing;
  const total = scan?.state.serviceTotal ?? 0;
  drift.unstorable = scan?.walk.unstorable ?? 0;
  drift.unreadable = unreadable.except(drift.different);
  drift.arrivals = Math.max(0, total - (end.total ?? total));
  if (!isRepair) {
    const found = { missing: withoutArrivals(comparing), different: drift.different };
    Object.assign(drift, await confirmDrift(context, db, { found, suspects, signal }));
    return;
  }
  await context.ledger.transaction(async (tx) => {
    await unlistRows(tx, drift.name, drift.extra);
    await recountStream(tx, drift.name);
  });
  const found = drift.missing.length + drift.different.length + drift.extra.length;
  drift.repaired = found - comparing.unrepaired.size;
}

/**
 * Returns the days (since 1970) of the rows that only the list or only the ledger has. A repair leaves the rows that no
 * scan has met although the service seems to count them.
 */
async function placesOf({ db, drift, isRepair, timesOfMissing }: Comparing): Promise<Places> {
  const { missing, extra, unmet } = drift;
  const times = (isRepair ? [] : missing).map((orderNo) => timesOfMissing.get(orderNo) ?? 0);
  const held = await daysOfRows(db, isRepair ? unmet : [...extra, ...unmet]);
  const days = [...times.map((ms) => (ms > 0 ? Math.floor(ms / dayMs) : null)), ...held];
  return { days: days.filter((day) => day !== null), isUndated: days.includes(null) };
}

/**
 * Removes the missing rows that arrived after the comparison had begun; the next pass brings them. If the list follows
 * the times, these are the rows later than its newest row was. Any other missing row is drift, because it may have been
 * there.
 */
function withoutArrivals({ drift, end, scan, timesOfMissing }: Comparing): string[] {
  const { newest } = end;
  if (newest === null || scan === null || orderOf(scan.walk) === 'unordered') return drift.missing;
  const earlier = drift.missing.filter((orderNo) => !((timesOfMissing.get(orderNo) ?? 0) > newest));
  // A row whose time has changed looks like an arrival, but the total does not count it as one.
  const arrived = drift.missing.length - earlier.length;
  return end.total !== null && arrived > drift.arrivals ? drift.missing : earlier;
}
