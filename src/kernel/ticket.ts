/**
 * Lanes in which requests share the budget; the first one goes first. `head`: looks at the growing end of a list.
 * `pools`: addresses. `current`: balances, coins, details of open, new and changed rows, the first scan of a list.
 * `backlog`: details of the history, further scans, audit and verify. Each lower lane has a floor, so that none
 * starves.
 */
export const lanes = ['head', 'pools', 'current', 'backlog'] as const;

export type Lane = (typeof lanes)[number];

/**
 * Permission for one request to the wallet service. All processes take tickets from one place, so the ticket order is
 * the request order, independent of clocks.
 */
export type Ticket = {
  /** Position in the order of all requests ever sent: the fencing token that protects the rows. */
  observation: number;
  /** Decimal text, strictly increasing over all processes that share the key, never used twice. */
  nonce: string;
};

/** A higher lane goes first: the caller may ask again after this many milliseconds. */
export type Deferral = { backInMs: number };

export type TicketSource = {
  /**
   * Waits for the request budget and any pause, then returns the ticket. Returns a deferral instead while a higher lane
   * needs the budget; the lane `head` is never deferred. Rejects when the signal aborts.
   */
  take(lane: Lane, signal?: AbortSignal): Promise<Ticket | Deferral>;
  /** Delays the requests of all processes by `ms` milliseconds, as the service requested. */
  pause(ms: number): Promise<void>;
};
