import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';

/** From the end of the faults until the ledger equals the service; `converged` checks it. */
export const faultsOff = 'all faults off';

/**
 * Time from the end of a fault until the ledger has a newly arrived transaction with a current time. A late one waits
 * for a search, which the next faults interrupt; `converged` checks those.
 */
export type Probes = {
  /** Waits for the order from now on. */
  watch(kind: string, orderNo: string): void;
  /** Adds a time measured elsewhere. */
  record(kind: string, ms: number): void;
  times: ReadonlyMap<string, readonly number[]>;
  /** Orders that have not arrived yet. */
  pending(): { kind: string; orderNo: string; forMs: number }[];
  stop(): void;
};

const pollMs = 100;

export function startProbes(database: pg.Pool): Probes {
  const times = new Map<string, number[]>();
  const waiting = new Map<string, { kind: string; at: number }>();
  let isStopped = false;
  const record = (kind: string, ms: number) => {
    const known = times.get(kind);
    if (known) known.push(ms);
    else times.set(kind, [ms]);
  };
  const look = async () => {
    const { rows } = await database.query<{ order_no: string }>(
      'select order_no from ledger.transactions where order_no = any($1)',
      [[...waiting.keys()]],
    );
    const now = performance.now();
    for (const { order_no: orderNo } of rows) {
      const probe = waiting.get(orderNo);
      if (probe) record(probe.kind, now - probe.at);
      waiting.delete(orderNo);
    }
  };
  const poll = async () => {
    while (!isStopped) {
      // The ledger cannot be read while the database is away.
      if (waiting.size > 0) await look().catch(() => undefined);
      await delay(pollMs);
    }
  };
  void poll();
  return {
    watch: (kind, orderNo) => waiting.set(orderNo, { kind, at: performance.now() }),
    record,
    times,
    pending: () =>
      [...waiting].map(([orderNo, { kind, at }]) => ({
        kind,
        orderNo,
        forMs: Math.round(performance.now() - at),
      })),
    stop() {
      isStopped = true;
    },
  };
}
