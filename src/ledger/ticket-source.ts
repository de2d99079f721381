import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import type { Ticket, TicketSource } from '../kernel/ticket.ts';
import type { Ledger } from './connection/connect-ledger.ts';
import { disturbHome } from './home-store.ts';

type Grant = Ticket & { goAt: number };
type GrantRow = { observation: string; nonce: string; wait_ms: number; asked_ms: number };
type Waiter = { resolve(grant: Grant): void; reject(error: unknown): void };

/** The tickets of all processes; each method is one statement. */
export type TicketPort = {
  /** At least as many as asked for, in their order. */
  take(count: number): Promise<GrantRow[]>;
  pause(ms: number): Promise<void>;
  /** The database counts as moved from now on. */
  disturbHome(reason: string): Promise<void>;
};

/** While one trip is on its way the next one may start: its requests would wait longer than the trip costs. */
const tripsMax = 2;
/**
 * How late a ticket may be used. Slots lie 1 % wider than the budget asks for: in 10 s that leaves room for 100 ms. Where
 * a slot is longer than 10 s, lateness short of the next slot but 10 s puts no two requests into one window.
 */
const lateMsMin = 90;
const windowMs = 10_000;
/** Milliseconds between slots at one request a second, as `ledger.take_tickets` spaces them. */
const slotSpacing = 1_010;
/** Clocks drift: the least distance between the database's and ours that was seen counts for a while only. */
const driftMsPerTrip = 1;

/**
 * Tickets from `ledger.take_tickets`. Requests that ask in the same turn of the event loop, or while `tripsMax` round
 * trips are under way, share the next one: the database sees few statements however many requests are in flight. A
 * ticket that cannot be used in time is thrown away.
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

/** As `createTicketSource`, through a port. */
export function shareTickets(port: TicketPort, maxRps: number | null): TicketSource {
  let waiters: Waiter[] = [];
  let isGathering = false;
  let trips = 0;
  /** Counts pauses: a ticket granted before a pause is given up, its slot lies inside the pause. */
  let pauses = 0;
  const arrivals = watchArrivals(maxRps);
  /** The highest observation number that came here. */
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

  /** Numbers only rise: where they fell, files of the database from an earlier time were put in place of its own. */
  const noticeReturn = async (grants: Grant[], highestBefore: number): Promise<void> => {
    const numbers = grants.map(({ observation }) => observation);
    const isFallen = Math.min(...numbers) <= highestBefore;
    highest = isFallen ? Math.max(...numbers) : Math.max(highest, ...numbers);
    if (isFallen) await port.disturbHome('the numbers of its requests went back');
  };

  const pump = async (): Promise<void> => {
    if (isGathering || trips >= tripsMax) return;
    isGathering = true;
    // Requests that follow answers of the same moment ask in the same turn.
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

/** Knows when a ticket's moment is by this process's clock, and when it has been missed. */
function watchArrivals(maxRps: number | null) {
  /** This process's clock against the database's, with the least delay on the way. */
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
      // The process stood still; or a clock was set, and the distance of the two is to be learned again.
      offsetMs = Number.POSITIVE_INFINITY;
      return true;
    },
  };
}
