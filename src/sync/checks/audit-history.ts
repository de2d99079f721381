import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { type ReadDays, type TransactionType, transactionTypes } from '../../kernel/vocabulary.ts';
import type { TransactionRecord } from '../../kernel/wallet-records.ts';
import { recheckAltered } from '../../ledger/transactions/store-transaction-details.ts';
import { concludeScan } from '../list/conclude-scan.ts';
import type { ListedPage } from '../list/list-pages.ts';
import { createListSession, type ListSession } from '../list/list-session.ts';
import { isOrdered, type ListState, pagesFor, withCheckpoint } from '../list/list-state.ts';
import { beginReading, endReading, joinDays, type Reading, readOn } from '../list/read-days.ts';
import { lastCounted, readOrEnd } from '../list/refused-page.ts';
import { pagesOfDays, resolveDifferingDays } from '../list/resolve-days.ts';
import { scanList } from '../list/scan-list.ts';
import { withLease } from '../streams/lease-list.ts';
import { openStreamPort, stateOf } from '../streams/stream-port.ts';
import { transactionStream } from '../streams/sync-transactions.ts';
import { addCounts, emptyReport, type SyncContext, type SyncReport } from '../sync-context.ts';
import { type DayRange, type HeldDay, planAudit } from './plan-audit.ts';

/** Length of a slice, and of the pause after it in which the list is released, so that new rows need not wait. */
const sliceMs = 2_000;
const pauseMs = 500;

type Session = ListSession<ListedPage<TransactionRecord>>;
type Audit = {
  context: SyncContext;
  type: TransactionType;
  signal: AbortSignal;
  report: SyncReport;
};

/**
 * Reads the history again, oldest verification first, and stores it, in short slices:
 *
 * - It finds and logs late changes of old rows, final ones included.
 * - It restores rows that another program deleted from the ledger.
 * - It makes the details of rows that another program altered due again.
 * - It marks rows that the list no longer shows as unlisted, and days that agree as verified.
 */
export async function auditHistory(context: SyncContext, signal: AbortSignal): Promise<SyncReport> {
  const report = emptyReport();
  for (const type of transactionTypes) await auditStream({ context, type, signal, report });
  return report;
}

async function auditStream(audit: Audit): Promise<void> {
  const plan = await inSlice(audit, async (session) => {
    const { state, port } = session;
    // The audit needs a clean full scan to compare with.
    if (!state.isBacked || state.guests > 0 || port.ranks === null) return null;
    const held = await port.ranks.days();
    if (!isOrdered(state))
      return { pages: pagesInTurn(state, audit.context.settings.auditShare), held };
    const ranges = planAudit(held, port.now(), audit.context.settings.auditShare);
    return {
      ranges: ranges.map((range) => ({
        range,
        pages: pagesOfDays(state, held, range.first, range.last),
      })),
      held,
    };
  });
  if (!plan) return;
  if ('pages' in plan) {
    await readInTurn(audit, plan.pages);
    await scanWhenOld(audit, plan.held);
    return;
  }
  for (const { range, pages } of plan.ranges) await readRange(audit, range, pages);
}

/** Runs `work` with the list's lease. Returns undefined if another pass keeps the lease. */
async function inSlice<T>(
  { context, type, signal, report }: Audit,
  work: (session: Session) => Promise<T>,
): Promise<T | undefined> {
  const stream = transactionStream(context, type, 'backlog');
  const pass = { ifLeased: 'briefly', signal, isOfOldRows: true } as const;
  return await withLease(context, type, pass, async ({ owner, row }) => {
    const state = stateOf(row, context);
    const opened = openStreamPort(context, stream, { signal, sliceMs }, { state, owner, row });
    const session = createListSession(opened.port, state);
    try {
      const result = await work(session);
      if (session.isDirty) await session.store([]);
      return result;
    } finally {
      addCounts(report, opened.report);
      opened.close();
    }
  });
}

/** Position of the reading of a range between two slices. */
type Place = {
  page: number;
  reading: Reading | null;
  isOver: boolean;
};

async function readRange(
  audit: Audit,
  range: DayRange,
  pages: { low: number; high: number },
): Promise<void> {
  let place: Place = { page: pages.low, reading: null, isOver: false };
  while (!place.isOver) {
    const next = await inSlice(audit, async (session) => {
      let at = place;
      // Each slice reads at least one page, however late it begins.
      do at = await readPage(audit, session, at, { range, ...pages });
      while (!at.isOver && !session.port.shouldPause());
      if (session.state.checkpoint.differingDays.length > 0) await resolveDifferingDays(session);
      return at;
    });
    if (!next) return;
    place = next;
    if (!place.isOver) await abortableSleep(pauseMs, audit.signal);
  }
}

async function readPage(
  { context }: Audit,
  session: Session,
  { page, reading: before }: Place,
  { range, low, high }: { range: DayRange; low: number; high: number },
): Promise<Place> {
  const facts = await readOrEnd(session, page, { upTo: lastCounted(high, session.state) });
  const begun = before ?? (page === low ? beginReading(facts, session.state.listOrder) : null);
  const read = begun && facts.listed > 0 ? readOn(begun, facts) : { reading: begun, days: null };
  const isEnd = facts.listed === 0 || (facts.listed < facts.size && isAtTotal(facts));
  const ending = isEnd && read.reading ? endReading(read.reading) : null;
  await session.store(facts.listed > 0 ? [facts] : [], within(joinDays(read.days, ending), range));
  await recheckAltered(
    context.ledger.db,
    facts.content.records.map(({ orderNo }) => orderNo),
  );
  return {
    page: page + 1,
    reading: read.reading,
    isOver: isEnd || page >= high || hasPassed(read.reading, range),
  };
}

function isAtTotal({ page, size, listed, total }: ListedPage<unknown>): boolean {
  return (page - 1) * size + listed === total;
}

/** Returns true if the reading has left the range of days. */
function hasPassed(reading: Reading | null, { first, last }: DayRange): boolean {
  if (reading === null) return false;
  return reading.isNewestFirst ? reading.day < first : reading.day > last;
}

/** Limits the days to the range: the audit chose the pages for these days only. */
function within(days: ReadDays | null, { first, last }: DayRange): ReadDays | null {
  if (days === null) return null;
  const low = Math.max(first, days.low ?? first);
  const high = Math.min(last, days.high ?? last);
  if (low > high && !days.isHeadNew) return null;
  return { ...days, low, high, rows: days.rows.filter(([day]) => day >= low && day <= high) };
}

/** Returns the pages of a list without an order that are due. Starts at page 1 again after the last page. Pure. */
export function pagesInTurn(state: ListState, share: number): number[] {
  const last = pagesFor(Math.max(state.ledgerCount, 1), state);
  const count = Math.min(last, Math.max(1, Math.ceil(last * share)));
  const { auditPage } = state.checkpoint;
  const start = auditPage > last ? 1 : auditPage;
  return Array.from({ length: count }, (_, index) => ((start - 1 + index) % last) + 1);
}

async function readInTurn(audit: Audit, pages: number[]): Promise<void> {
  const waiting = [...pages];
  while (waiting.length > 0) {
    const isRead = await inSlice(audit, async (session) => {
      do {
        const page = waiting.shift() ?? 1;
        const facts = await readOrEnd(session, page);
        session.apply(withCheckpoint(session.state, { auditPage: page + 1 }));
        await session.store([facts]);
        await recheckAltered(
          audit.context.ledger.db,
          facts.content.records.map(({ orderNo }) => orderNo),
        );
      } while (waiting.length > 0 && !session.port.shouldPause());
      return true;
    });
    if (!isRead) return;
    if (waiting.length > 0) await abortableSleep(pauseMs, audit.signal);
  }
}

/**
 * Starts a full scan when a day's verification is too old: without an order only a full scan verifies days. Later
 * passes continue it in slices.
 */
async function scanWhenOld(audit: Audit, held: HeldDay[]): Promise<void> {
  const { auditCycleMs } = audit.context.settings;
  const isOld = ({ verifiedAt }: HeldDay) =>
    audit.context.clock() - (verifiedAt ?? 0) > auditCycleMs;
  if (!held.some(isOld)) return;
  await inSlice(audit, async (session) => {
    const { walk: unfinished, scannedAt } = session.state.checkpoint;
    const isScannedLately = audit.context.clock() - (scannedAt ?? 0) <= auditCycleMs;
    // A day with a row that cannot be stored is never verified, whatever a further scan shows.
    const isKnown = session.state.acceptedDifference > 0 && isScannedLately;
    if (unfinished !== null || isKnown) return;
    const { isPaused, walk } = await scanList(session, { isSequential: false, hadMismatch: false });
    if (!isPaused) await concludeScan(session, walk);
  });
}
