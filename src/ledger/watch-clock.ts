/**
 * Lateness within which a ticket is still valid. Slots are 1 % wider than the budget requires, which leaves 100 ms in
 * 10 s. With slots longer than 10 s, a ticket may be late by the slot's length minus 10 s. Two requests then never
 * share one window.
 */
const lateMsMin = 90;
const windowMs = 10_000;
/** Milliseconds between slots at one request a second, as in `ledger.take_tickets`. */
const slotSpacing = 1_010;
/** Milliseconds per comparison for clock drift: an old comparison loses its weight. */
const driftMs = 1;
/** Comparisons that a process makes at its start, if the first ones took long. */
const firstComparisons = 3;
/** Trips in a row whose tickets arrive late, after which the trip itself is taken to be that long. */
const lateTripsMax = 3;

/** The moments of a ticket on this process's clock: the first at which it may go, and the last. */
export type TicketMoments = { goAt: number; lateAt: number };

export type WatchedClock = ReturnType<typeof watchClock>;

/**
 * Converts moments of the database's clock to this process's clock. A trip shows that the clocks' distance lies between
 * two bounds. A ticket goes by the upper bound, so never early, and is late by the lower one: otherwise an answer that
 * was delayed would delay the slots of this process unnoticed, and a burst could follow.
 */
export function watchClock(maxRps: number | null) {
  const lateMsMax =
    maxRps === null
      ? Number.POSITIVE_INFINITY
      : Math.max(lateMsMin, slotSpacing / maxRps - windowMs);
  /** Bounds of this process's clock minus the database's. */
  let least = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;
  let last = { least, most };
  let comparisons = 0;
  let lateTrips = 0;
  return {
    /** Takes into account what a trip that was sent at `sentAt` and has just ended says of the database's clock. */
    compare(sentAt: number, databaseMs: number): void {
      last = { least: sentAt - databaseMs, most: performance.now() - databaseMs };
      least = Math.max(least - driftMs, last.least);
      most = Math.min(most + driftMs, last.most);
      // One of the clocks was set.
      if (least > most) ({ least, most } = last);
      comparisons += 1;
    },
    /** Returns true if another comparison would help. */
    isVague: () => comparisons < firstComparisons && most - least > lateMsMax / 2,
    toMoments(databaseMs: number): TicketMoments {
      const goAt = databaseMs + most;
      // Where the distance is not known any better, a ticket still has to have a time at which it may go.
      return { goAt, lateAt: Math.max(databaseMs + least + lateMsMax, goAt + lateMsMax / 2) };
    },
    /** Gives in where every ticket would be late: the way from the database is then as long as the last trip shows. */
    noteArrival(grants: TicketMoments[]): void {
      const isLate = grants.every(({ lateAt }) => lateAt < performance.now());
      lateTrips = isLate ? lateTrips + 1 : 0;
      if (lateTrips < lateTripsMax) return;
      ({ least, most } = last);
      lateTrips = 0;
    },
  };
}
