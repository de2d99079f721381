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
/** Trips in a row with late tickets after which the clock difference of the last trip is assumed. */
const lateTripsMax = 3;

/** The time window of a ticket on this process's clock: the first moment at which it may be used, and the last. */
export type TicketMoments = { goAt: number; lateAt: number };

export type WatchedClock = ReturnType<typeof watchClock>;

/**
 * Converts moments of the database's clock to this process's clock. Each trip gives a lower and an upper bound of the
 * difference of the clocks. A ticket may be used from the upper bound on, so never early. It is late by the lower
 * bound: otherwise a delayed answer would delay the slots of this process unnoticed, and a burst could follow.
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
    /** Updates the bounds after a trip that was sent at `sentAt`, has just ended and returned the database's time. */
    compare(sentAt: number, databaseMs: number): void {
      last = { least: sentAt - databaseMs, most: performance.now() - databaseMs };
      least = Math.max(least - driftMs, last.least);
      most = Math.min(most + driftMs, last.most);
      // One of the clocks was set.
      if (least > most) ({ least, most } = last);
      comparisons += 1;
    },
    /** Returns the database's time in Unix ms; null before the first trip. */
    now: (): number | null =>
      comparisons === 0 ? null : Math.round(performance.now() - (last.least + last.most) / 2),
    /** Returns true if another comparison would help. */
    isVague: () => comparisons < firstComparisons && most - least > lateMsMax / 2,
    toMoments(databaseMs: number): TicketMoments {
      const goAt = databaseMs + most;
      // Where the distance is not known any better, a ticket still has to have a time at which it may go.
      return { goAt, lateAt: Math.max(databaseMs + least + lateMsMax, goAt + lateMsMax / 2) };
    },
    /**
     * Resets the bounds to those of the last trip if the tickets of several trips in a row arrived late: the trip then
     * really takes that long.
     */
    noteArrival(grants: TicketMoments[]): void {
      const isLate = grants.every(({ lateAt }) => lateAt < performance.now());
      lateTrips = isLate ? lateTrips + 1 : 0;
      if (lateTrips < lateTripsMax) return;
      ({ least, most } = last);
      lateTrips = 0;
    },
  };
}
