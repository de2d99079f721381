import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import type { Ticket, TicketSource } from '../kernel/ticket.ts';
import type { Ledger } from './connection/connect-ledger.ts';
import { disturbHome } from './home-store.ts';

type Grant = Ticket & { goAt: number };
type GrantRow = { observation: string; nonce: string; wait_ms: number; asked_ms: number };
type Waiter = { resolve(grant: Grant): void; reject(error: unknown): void };

/** Tickets of all processes; each method is one statement. */
export type TicketPort = {
  /** Returns at least `count` grants, in the order of their slots. */
  take(count: number): Promise<GrantRow[]>;
  pause(ms: number): Promise<void>;
  /** Marks the database as moved. */
  disturbHome(reason: string): Promise<void>;
};

/**
 * Upper bound of concurrent round trips. The second one may start during the first, because waiting for it would cost
 * more.
 */
const tripsMax = 2;
/**
 * Lateness within which a ticket is still valid. Slots are 1 % wider than the budget requires, which leaves 100 ms in
 * 10 s. With slots longer than 10 s, a ticket may be late by the slot's length minus 10 s. Two requests then never
 * share one window.
 */
const lateMsMin = 90;
const windowMs = 10_000;
/** Milliseconds between slots at one request a second, as in `ledger.take_tickets`. */
const slotSpacing = 1_010;
/** Milliseconds per round trip for clock drift: an old measurement of the clock offset loses its weight. */
const driftMsPerTrip = 1;

/**
 * Returns tickets from `ledger.take_tickets`. Requests of the same event loop turn share one round trip, as do those
 * that wait while `tripsMax` trips are under way. So the database sees few statements for any number of requests in
 * flight. A ticket that cannot be used in time is discarded.
 */
export function createTicketSource(
  { db }: Ledger,
  { maxRps, nonceUnit }: { maxRps: number | null; nonceUnit: 'ms' | 'us' },
): TicketSource {
  const port: TicketPort = {
    async take(count) {
      const { rows } = await db.execute<GrantRow>(
        sql`select * from ledger.take_tickets(${count}::integer, ${maxRps}::double precision, ${nonceUnit}::text)`,
      );
      return rows;
    },
    async pause(ms) {
      await db.execute(sql`select ledger.pause_requests(${ms}::double precision)`);
    },
    disturbHome: (reason) => disturbHome(db, reason),
  };
  return shareTickets(port, maxRps);
}

/** Returns the tickets of a port, as `createTicketSource`. */
export function shareTickets(port: TicketPort, maxRps: number | null): TicketSource {
  let waiters: Waiter[] = [];
  let isGathering = false;
  let trips = 0;
  /** Counts pauses. A ticket from before a pause is discarded, because its slot lies inside the pause. */
  let pauses = 0;
  const arrivals = watchArrivals(maxRps);
  /** Highest observation that this process has received. */
  let highest = 0;

  const fetchGrants = async (served: Waiter[]): Promise<void> => {
    const highestBefore = highest;
    try {
      const rows = await port.take(served.length);
      if (rows.length < served.length)
        throw new Error('ledger.take_tickets returned too few tickets');
      const grants = arrivals.toGrants(rows);
      await noticeReturn(grants, highestBefore);
      for (const [index, grant] of grants.entries()) served[index]?.resolve(grant);
    } catch (error) {
      for (const waiter of served) waiter.reject(error);
    }
  };

  /** Detects falling numbers: they mean that someone replaced the database's files with those of an earlier time. */
  const noticeReturn = async (grants: Grant[], highestBefore: number): Promise<void> => {
    const numbers = grants.map(({ observation }) => observation);
    const isFallen = Math.min(...numbers) <= highestBefore;
    highest = isFallen ? Math.max(...numbers) : Math.max(highest, ...numbers);
    if (isFallen) await port.disturbHome('the numbers of its requests went back');
  };

  const pump = async (): Promise<void> => {
    if (isGathering || trips >= tripsMax) return;
    isGathering = true;
    // Gathers requests that follow answers of the same moment: they ask in the same turn.
    await nextTurn();
    isGathering = false;
    const served = waiters;
    waiters = [];
    trips += 1;
    await fetchGrants(served);
    trips -= 1;
    if (waiters.length > 0) void pump();
  };

  const grant = (): Promise<Grant> =>
    new Promise((resolve, reject) => {
      waiters.push({ resolve, reject });
      void pump();
    });

  return {
    async take(signal) {
      for (;;) {
        signal?.throwIfAborted();
        const pausesBefore = pauses;
        const { goAt, ...ticket } = await grant();
        const waitMs = goAt - performance.now();
        if (waitMs > 0) await abortableSleep(waitMs, signal);
        const isLate = arrivals.isLate(goAt);
        if (pauses === pausesBefore && !isLate) return ticket;
      }
    },
    async pause(ms) {
      await port.pause(ms);
      pauses += 1;
    },
  };
}

/** Converts the moment of a ticket to this process's clock, and detects tickets that are too late. */
function watchArrivals(maxRps: number | null) {
  /** This process's clock minus the database's, with the least network delay seen. */
  let offsetMs = Number.POSITIVE_INFINITY;
  const lateMsMax =
    maxRps === null
      ? Number.POSITIVE_INFINITY
      : Math.max(lateMsMin, slotSpacing / maxRps - windowMs);
  return {
    toGrants(rows: GrantRow[]): Grant[] {
      const askedMs = rows[0]?.asked_ms ?? 0;
      offsetMs = Math.min(offsetMs + driftMsPerTrip, performance.now() - askedMs);
      return rows.map((row) => ({
        observation: Number(row.observation),
        nonce: row.nonce,
        goAt: row.asked_ms + row.wait_ms + offsetMs,
      }));
    },
    isLate(goAt: number): boolean {
      if (performance.now() - goAt <= lateMsMax) return false;
      // Measures the offset again: either the process stalled, or a clock was set.
      offsetMs = Number.POSITIVE_INFINITY;
      return true;
    },
  };
}
