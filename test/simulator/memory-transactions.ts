import type { DetailPort } from '../../src/sync/details/detail-port.ts';
import type { Simulation } from './simulation.ts';

export type FenceRule = (incoming: number, stored: number) => boolean;

type Answer = { orderNo: string; state: string | null; observation: number };
type Row = {
  state: string | null;
  observation: number;
  nextCheckAt: number | null;
  changedAt: number;
  isDetailed: boolean;
  claim?: string | undefined;
};

export const finalState = 'success';

/** The rows of `ledger.transactions`, as far as fencing and due times need them. */
export class MemoryTransactions {
  readonly rows = new Map<string, Row>();
  readonly #sim: Simulation;
  readonly #mayOverwrite: FenceRule;

  constructor(sim: Simulation, mayOverwrite: FenceRule) {
    this.#sim = sim;
    this.#mayOverwrite = mayOverwrite;
  }

  storeListed(answers: Answer[]): void {
    const now = this.#sim.now();
    for (const { orderNo, state, observation } of answers) {
      const row = this.rows.get(orderNo);
      if (!row) {
        const times = { nextCheckAt: now, changedAt: now };
        this.rows.set(orderNo, { state, observation, ...times, isDetailed: false });
      } else if (row.state !== state && this.#mayOverwrite(observation, row.observation)) {
        this.#write(row, state, observation);
        row.nextCheckAt = now;
      }
    }
  }

  /** `run` runs a transaction at a time of its choice. */
  details(run: <T>(work: () => T) => Promise<T>): DetailPort {
    const now = this.#sim.now;
    return {
      countIncomplete: () =>
        run(() => {
          const open = [...this.rows.values()].filter(({ nextCheckAt }) => nextCheckAt !== null);
          const final = open.filter(({ state }) => state === finalState);
          return { incomplete: open.length, finalIncomplete: final.length };
        }),
      claim: (limit, { id, leaseMs }) =>
        run(() => {
          const dueAt = ({ nextCheckAt }: Row) => nextCheckAt ?? Number.POSITIVE_INFINITY;
          const due = [...this.rows].filter(([, row]) => dueAt(row) <= now());
          const claimed = due.sort(([, a], [, b]) => dueAt(a) - dueAt(b)).slice(0, limit);
          for (const [, row] of claimed) {
            row.nextCheckAt = now() + leaseMs;
            row.claim = id;
          }
          return claimed.map(([orderNo]) => ({ orderNo, lane: 'current', isRefused: false }));
        }),
      answeredBefore: () => run(() => null),
      unclaimed: () => run(() => []),
      extend: ({ id, leaseMs }) =>
        run(() => {
          for (const row of this.rows.values())
            if (row.claim === id && row.nextCheckAt !== null) row.nextCheckAt = now() + leaseMs;
        }),
      release: (claimId) =>
        run(() => {
          for (const row of this.rows.values())
            if (row.claim === claimId && row.nextCheckAt !== null) row.nextCheckAt = now();
        }),
      store: (answers, { claimId, putOff }) =>
        run(() => {
          for (const answer of answers) this.#storeDetail(answer);
          for (const row of this.#named(putOff.map(({ orderNo }) => orderNo))) {
            if (row.claim !== claimId) continue;
            row.nextCheckAt = this.#nextCheck(row);
            row.claim = undefined;
          }
          return 0;
        }),
    };
  }

  #storeDetail({ orderNo, state, observation }: Answer): void {
    const row = this.rows.get(orderNo);
    if (!row || !this.#mayOverwrite(observation, row.observation)) return;
    this.#write(row, state, observation);
    row.isDetailed = true;
    row.claim = undefined;
    row.nextCheckAt = state === finalState ? null : this.#nextCheck(row);
  }

  #named(orderNos: string[]): Row[] {
    return orderNos.flatMap((orderNo) => this.rows.get(orderNo) ?? []);
  }

  /** An open row is checked again after half the time since its last change, 15 s to 1 h. */
  #nextCheck({ changedAt }: Row): number {
    const now = this.#sim.now();
    return now + Math.min(3_600_000, Math.max(15_000, (now - changedAt) / 2));
  }

  #write(row: Row, state: string | null, observation: number): void {
    if (observation <= row.observation)
      this.#sim.violate(`answer ${observation} overwrote what ${row.observation} had brought`);
    if (row.state !== state) row.changedAt = this.#sim.now();
    Object.assign(row, { state, observation });
  }
}
