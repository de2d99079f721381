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

export type TicketSource = {
  /** Waits for the request budget and any pause, then returns the ticket. Rejects when the signal aborts. */
  take(signal?: AbortSignal): Promise<Ticket>;
  /** Delays the requests of all processes by `ms` milliseconds, as the service requested. */
  pause(ms: number): Promise<void>;
};
