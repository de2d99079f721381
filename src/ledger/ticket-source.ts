import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { type Clock, systemClock } from '../kernel/clock.ts';
import {
  type Deferral,
  type Lane,
  lanes,
  type Ticket,
  type TicketSource,
} from '../kernel/ticket.ts';
import type { Ledger, LedgerDb } from './connection/connect-ledger.ts';
import { readDatabaseTime } from './connection/read-database-time.ts';
import { disturbHomeSince } from './home-store.ts';
import { type TicketMoments, type WatchedClock, watchClock } from './watch-clock.ts';

type Grant = Ticket & TicketMoments;
type TicketRow = { observation: string; nonce: string; wait_ms: number; asked_ms: number };
/** A ticket, or a row without numbers, whose `wait_ms` is the pause before tickets are requested again. */
type AnswerRow = TicketRow | { observation: null; nonce: null; wait_ms: number; asked_ms: number };
type Highest = { observation: number; givenMs: number };
/** `clock`: the database's clock as of the last trip; the process's own before the first one. */
export type LedgerTickets = TicketSource & { clock: Clock };
type Waiter = { resolve(answer: Grant | Deferral): void; reject(error: unknown): void };

/** Tickets of a wallet, for all processes; each method is one statement. */
export type TicketPort = {
  /** Returns up to `count` tickets, in the order of their slots; a row without numbers follows if they are fewer. */
  take(count: number, lane: Lane): Promise<AnswerRow[]>;
  pause(ms: number): Promise<void>;
  /** Returns the milliseconds left of a pause that the service asked for, of any process; 0 or less without one. */
  pausedMs(): Promise<number>;
  /** Returns the database's clock in milliseconds. */
  clock(): Promise<number>;
  /** Marks the database as moved, unless a move was healed after `sinceMs`, a time of the database's clock. */
  disturbHome(reason: string, sinceMs: number): Promise<void>;
};

/**
 * Upper bound of concurrent round trips. The second one may start during the first, because waiting for it would cost
 * more.
 */
const tripsMax = 2;

/** Shortest wait for which it is worth a statement to find out if it is a pause. */
const noticedWaitMs = 1_000;

/** Called before a wait for a pause that the service asked for, of this or any other process. */
export type OnPaused = (msLeft: number) => void;

/**
 * Returns tickets of the ledger's wallet from `ledger.take_tickets`. Requests of the same event loop turn share one
 * round trip, as do those that wait while `tripsMax` trips are in progress. So the database sees few statements for any
 * number of requests in flight. A ticket that cannot be used in time is discarded.
 */
export function createTicketSource(
  { db }: Ledger,
  { maxRps, nonceUnit }: { maxRps: number | null; nonceUnit: 'ms' | 'us' },
  onPaused?: OnPaused,
): LedgerTickets {
  const port: TicketPort = {
    async take(count, lane) {
      const { rows } = await db.execute<AnswerRow>(
        sql`select * from ledger.take_tickets(${count}::integer, ${maxRps}::double precision, ${nonceUnit}::text,
                                              ${lanes.indexOf(lane) + 1}::integer)`,
      );
      return rows;
    },
    async pause(ms) {
      await db.execute(sql`select ledger.pause_requests(${ms}::double precision)`);
    },
    pausedMs: () => readPausedMs(db),
    clock: () => readDatabaseTime(db),
    disturbHome: (reason, sinceMs) => disturbHomeSince(db, reason, sinceMs),
  };
  return shareTickets(port, maxRps, onPaused);
}

async function readPausedMs(db: LedgerDb): Promise<number> {
  const { rows } = await db.execute<{ ms: number }>(
    sql`select (extract(epoch from paused_until - clock_timestamp()) * 1000)::double precision as ms
          from own.request_tickets where id = 1`,
  );
  return rows[0]?.ms ?? 0;
}

/** Returns the tickets of a port, as `createTicketSource`. */
export function shareTickets(
  port: TicketPort,
  maxRps: number | null,
  onPaused?: OnPaused,
): LedgerTickets {
  const waiters = createWaiters();
  let isGathering = false;
  let trips = 0;
  /** Counts pauses. A ticket from before a pause is discarded, because its slot lies inside the pause. */
  let pauses = 0;
  const clock = watchClock(maxRps);
  /** Highest observation that this process has received, and when it was given, by the database's clock. */
  let highest: Highest = { observation: 0, givenMs: 0 };

  const fetchGrants = async (lane: Lane, served: Waiter[]): Promise<void> => {
    const highestBefore = highest;
    try {
      const { grants, deferral, askedMs } = await takeGrants(port, clock, lane, served.length);
      await noticeReturn(grants, askedMs, highestBefore);
      for (const [index, waiter] of served.entries()) waiter.resolve(grants[index] ?? deferral);
      // The tickets are good even if nobody learns why they have to wait.
      await noticePause(port, grants[0] ?? deferral, onPaused).catch(() => undefined);
    } catch (error) {
      for (const waiter of served) waiter.reject(error);
    }
  };

  /**
   * Detects falling numbers: they mean that the database's files were replaced by those of an earlier time. If a
   * restore was healed after the highest number was given, they are part of that move and not a second one.
   */
  const noticeReturn = async (grants: Grant[], givenMs: number, before: Highest): Promise<void> => {
    if (grants.length === 0) return;
    const numbers = grants.map(({ observation }) => observation);
    const isFallen = Math.min(...numbers) <= before.observation;
    const observation = Math.max(...numbers);
    if (isFallen || observation > highest.observation) highest = { observation, givenMs };
    if (isFallen) await port.disturbHome('the numbers of its requests decreased', before.givenMs);
  };

  const pump = async (): Promise<void> => {
    if (isGathering || trips >= tripsMax || waiters.isEmpty()) return;
    isGathering = true;
    // Waits one turn, because requests that follow answers of the same moment ask in the same turn.
    await nextTurn();
    isGathering = false;
    const next = waiters.takeHighest();
    if (!next) return;
    trips += 1;
    void pump();
    await fetchGrants(next.lane, next.served);
    trips -= 1;
    void pump();
  };

  return {
    async take(lane, signal) {
      for (;;) {
        signal?.throwIfAborted();
        const pausesBefore = pauses;
        const served = waiters.wait(lane);
        void pump();
        const answer = await served;
        if ('backInMs' in answer) return answer;
        const { goAt, lateAt, ...ticket } = answer;
        const waitMs = goAt - performance.now();
        if (waitMs > 0) await abortableSleep(waitMs, signal);
        if (performance.now() <= lateAt && pauses === pausesBefore) return ticket;
      }
    },
    async pause(ms) {
      await port.pause(ms);
      pauses += 1;
    },
    clock: () => clock.now() ?? systemClock(),
  };
}

/** Distinguishes a pause from the pace of the budget, which only delays the request. */
async function noticePause(port: TicketPort, first: Grant | Deferral, onPaused?: OnPaused) {
  const waitMs = 'backInMs' in first ? first.backInMs : first.goAt - performance.now();
  const leftMs = onPaused && waitMs > noticedWaitMs ? await port.pausedMs() : 0;
  if (leftMs > 0) onPaused?.(leftMs);
}

async function takeGrants(
  port: TicketPort,
  clock: WatchedClock,
  lane: Lane,
  count: number,
): Promise<{ grants: Grant[]; deferral: Deferral; askedMs: number }> {
  const sentAt = performance.now();
  const rows = await port.take(count, lane);
  clock.compare(sentAt, rows[0]?.asked_ms ?? 0);
  while (clock.isVague()) clock.compare(performance.now(), await port.clock());
  const grants = rows.flatMap(({ observation, nonce, asked_ms, wait_ms }) =>
    nonce === null
      ? []
      : { observation: Number(observation), nonce, ...clock.toMoments(asked_ms + wait_ms) },
  );
  if (grants.length > 0) clock.noteArrival(grants);
  const last = rows.at(-1);
  if (last?.nonce !== null && grants.length < count)
    throw new Error('ledger.take_tickets returned too few tickets');
  return { grants, deferral: { backInMs: last?.wait_ms ?? 0 }, askedMs: rows[0]?.asked_ms ?? 0 };
}

/** Callers that wait for a trip, by lane. One trip serves one lane. */
function createWaiters() {
  const queues = new Map(lanes.map((lane): [Lane, Waiter[]] => [lane, []]));
  return {
    wait: (lane: Lane): Promise<Grant | Deferral> =>
      new Promise((resolve, reject) => void queues.get(lane)?.push({ resolve, reject })),
    isEmpty: () => [...queues.values()].every(({ length }) => length === 0),
    /** Takes all callers of the highest lane that has any. */
    takeHighest(): { lane: Lane; served: Waiter[] } | undefined {
      for (const [lane, queue] of queues)
        if (queue.length > 0) return { lane, served: queue.splice(0) };
      return undefined;
    },
  };
}
