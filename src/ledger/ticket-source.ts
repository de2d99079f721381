import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import type { Ticket, TicketSource } from '../kernel/ticket.ts';
import type { Ledger } from './connect-ledger.ts';

type Grant = Ticket & { goAt: number };
type Waiter = { resolve(grant: Grant): void; reject(error: unknown): void };

/** While one trip is on its way the next one may start: its requests would wait longer than the trip costs. */
const tripsMax = 2;

/**
 * Tickets from `ledger.take_tickets`. Requests that ask in the same turn of the event loop, or while `tripsMax` round
 * trips are under way, share the next one: the database sees few statements however many requests are in flight.
 */
export function createTicketSource(
  ledger: Ledger,
  options: { maxRps: number | null; nonceUnit: 'ms' | 'us' },
): TicketSource {
  let waiters: Waiter[] = [];
  let isGathering = false;
  let trips = 0;
  /** Counts pauses: a ticket granted before a pause is given up, its slot lies inside the pause. */
  let pauses = 0;

  const fetchGrants = async (served: Waiter[]): Promise<void> => {
    try {
      const answer = await ledger.db.execute<{
        observation: string;
        nonce: string;
        wait_ms: number;
      }>(
        sql`select * from ledger.take_tickets(${served.length}::integer, ${options.maxRps}::double precision, ${options.nonceUnit}::text)`,
      );
      const now = performance.now();
      for (const [index, waiter] of served.entries()) {
        const row = answer.rows[index];
        if (!row) throw new Error('ledger.take_tickets returned too few tickets');
        waiter.resolve({
          observation: Number(row.observation),
          nonce: row.nonce,
          goAt: now + row.wait_ms,
        });
      }
    } catch (error) {
      for (const waiter of served) waiter.reject(error);
    }
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
        if (pauses === pausesBefore) return ticket;
      }
    },
    async pause(ms) {
      await ledger.db.execute(sql`select ledger.pause_requests(${ms}::double precision)`);
      pauses += 1;
    },
  };
}
