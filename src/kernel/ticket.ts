/**
 * Permission for one request to the wallet service. Tickets come from one place for all processes, so their
 * order is the order of the requests, whatever clocks say.
 */
export type Ticket = {
  /** Position of the request in the order of all requests ever sent: the fence that guards the rows. */
  observation: number;
  /** Decimal text, strictly increasing over all processes that share the key, never used twice. */
  nonce: string;
};

export type TicketSource = {
  /** Waits for the request budget and any pause, then returns the ticket. Rejects when the signal aborts. */
  take(signal?: AbortSignal): Promise<Ticket>;
  /** Holds back the requests of all processes for `ms` milliseconds, as the service asked. */
  pause(ms: number): Promise<void>;
};
