import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import type { TransactionRecord } from '../../kernel/wallet-records.ts';
import type { TransactionStream } from '../../ledger/transactions/store-listed-transactions.ts';
import { recheckAltered } from '../../ledger/transactions/store-transaction-details.ts';
import { concludeScan } from '../list/conclude-scan.ts';
import type { ListedPage } from '../list/list-pages.ts';
import { createListSession, type ListSession } from '../list/list-session.ts';
import { isOrdered, type ListState, pagesFor, withCheckpoint } from '../list/list-state.ts';
import {
  beginReading,
  endReading,
  joinDays,
  type ReadDays,
  type Reading,
  readOn,
} from '../list/read-days.ts';
import { pagesOfDays, resolveDifferingDays } from '../list/resolve-days.ts';
import { scanList } from '../list/scan-list.ts';
import { withLease } from '../streams/lease-list.ts';
import { openStreamPort, stateOf } from '../streams/stream-port.ts';
import { transactionStream, transactionStreams } from '../streams/sync-transactions.ts';
import { addCounts, emptyReport, type SyncContext, type SyncReport } from '../sync-context.ts';
import { type DayRange, type HeldDay, planAudit } from './plan-audit.ts';

/** The list is given back so often, and for so long, that new rows need not wait. */
const sliceMs = 2_000;
const pauseMs = 500;

type Session = ListSession<ListedPage<TransactionRecord>>;
type Audit = {
  context: SyncContext;
  type: TransactionStream;
  signal: AbortSignal;
  report: SyncReport;
};

/**
 * Reads the history again by age and stores it: late changes of old rows, final ones too, are found and logged, rows
 * that someone took out of the ledger come back, rows that someone wrote have their detail fetched again, rows that
 * the list no longer shows are marked as unlisted, and days that agree are marked as verified. Works in short slices.
 */
export async function auditHistory(context: SyncContext, signal: AbortSignal): Promise<SyncReport> {
  const report = emptyReport();
  for (const type of transactionStreams) await auditStream({ context, type, signal, report });
  return report;
}

async function auditStream(audit: Audit): Promise<void> {
  const plan = await inSlice(audit, async (session) => {
    const { state, port } = session;
    // Before the first scan has ended there is nothing to audit.
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

/** One hold on the list. Undefined while another pass keeps it. */
async function inSlice<T>(
  { context, type, signal, report }: Audit,
  work: (session: Session) => Promise<T>,
): Promise<T | undefined> {
  const stream = transactionStream(context, type);
  return await withLease(context, type, { ifLeased: 'briefly', signal }, async ({ owner, row }) => {
    const state = stateOf(row, context);
    const opened = openStreamPort(context, stream, { signal, sliceMs }, { state, owner });
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

/** Where the reading of a range stands between two slices. */
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
    const endsAt = performance.now() + sliceMs;
    const next = await inSlice(audit, async (session) => {
      let at = place;
      while (!at.isOver && performance.now() < endsAt)
        at = await readPage(audit, session, at, { range, ...pages });
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
  const facts = await session.read(page, high);
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

/** The reading has left the days that were to be read. */
function hasPassed(reading: Reading | null, { first, last }: DayRange): boolean {
  if (reading === null) return false;
  return reading.isNewestFirst ? reading.day < first : reading.day > last;
}

/** Only the days that were to be read: what lies beside them was not planned by rank. */
function within(days: ReadDays | null, { first, last }: DayRange): ReadDays | null {
  if (days === null) return null;
  const low = Math.max(first, days.low ?? first);
  const high = Math.min(last, days.high ?? last);
  if (low > high && !days.isHeadNew) return null;
  return { ...days, low, high, rows: days.rows.filter(([day]) => day >= low && day <= high) };
}

/** The pages of a list without an order that are due, beginning anew after the last one. Pure. */
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
    const endsAt = performance.now() + sliceMs;
    const isRead = await inSlice(audit, async (session) => {
      while (waiting.length > 0 && performance.now() < endsAt) {
        const page = waiting.shift() ?? 1;
        const facts = await session.read(page);
        session.apply(withCheckpoint(session.state, { auditPage: page + 1 }));
        await session.store([facts]);
        await recheckAltered(
          audit.context.ledger.db,
          facts.content.records.map(({ orderNo }) => orderNo),
        );
      }
      return true;
    });
    if (!isRead) return;
    if (waiting.length > 0) await abortableSleep(pauseMs, audit.signal);
  }
}

/** Without an order only a full scan verifies days. It is begun here; passes go on with it in slices. */
async function scanWhenOld(audit: Audit, held: HeldDay[]): Promise<void> {
  const { auditCycleMs } = audit.context.settings;
  const isOld = ({ verifiedAt }: HeldDay) =>
    audit.context.clock() - (verifiedAt ?? 0) > auditCycleMs;
  if (!held.some(isOld)) return;
  await inSlice(audit, async (session) => {
    if (session.state.checkpoint.walk !== null) return;
    const { isPaused, walk } = await scanList(session, { isSequential: false, hadMismatch: false });
    if (!isPaused) await concludeScan(session, walk);
  });
}
