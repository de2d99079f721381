/** The rows of `ledger.transactions` as far as fence and due times go, and what the product's statements do to them. */
import type { Simulation } from './simulation.ts';
import { createStatementTable, type Handler } from './statement.ts';

export type FenceRule = (incoming: number, stored: number) => boolean;

type Row = {
  state: string;
  observation: number;
  nextCheckAt: number | null;
  changedAt: number;
  detailed: boolean;
};

export const finalState = 'success';
/** At which places the arrays of a batch stand among a statement's parameters. */
const listed = { orderNo: 1, state: 9, observation: 12 };
const detailed = { orderNo: 0, state: 7, observation: 13 };

export function createModelTransactions(sim: Simulation, mayOverwrite: FenceRule) {
  const rows = new Map<string, Row>();

  /** An open row is looked at again after half the time it has stood still, 15 s to 1 h. */
  const nextCheck = ({ changedAt }: Row) =>
    sim.now() + Math.min(3_600_000, Math.max(15_000, (sim.now() - changedAt) / 2));

  const batchOf = (params: unknown[], at: typeof listed) => {
    // The text of an array is JSON but for its brackets, as long as nothing in it is null.
    const column = <T>(index: number) =>
      JSON.parse(`[${String(params[index]).slice(1, -1)}]`) as T[];
    const states = column<string>(at.state);
    const observations = column<number>(at.observation);
    return column<string>(at.orderNo).map((orderNo, index) => ({
      orderNo,
      state: states[index] ?? '',
      observation: observations[index] ?? 0,
    }));
  };

  const write = (row: Row, state: string, observation: number) => {
    if (observation <= row.observation)
      sim.violate(`answer ${observation} overwrote what ${row.observation} had brought`);
    if (row.state !== state) row.changedAt = sim.now();
    Object.assign(row, { state, observation });
  };

  const storeList: Handler = (params) => {
    let inserted = 0;
    for (const { orderNo, state, observation } of batchOf(params, listed)) {
      const row = rows.get(orderNo);
      const now = sim.now();
      if (!row) {
        inserted += 1;
        rows.set(orderNo, {
          state,
          observation,
          nextCheckAt: now,
          changedAt: now,
          detailed: false,
        });
      } else if (row.state !== state && mayOverwrite(observation, row.observation)) {
        write(row, state, observation);
        row.nextCheckAt = now;
      }
    }
    return [{ inserted, updated: 0, unknown: inserted }];
  };

  const storeDetails: Handler = (params) => {
    for (const { orderNo, state, observation } of batchOf(params, detailed)) {
      const row = rows.get(orderNo);
      if (!row || !mayOverwrite(observation, row.observation)) continue;
      const differs = row.state !== state;
      write(row, state, observation);
      row.detailed = true;
      const openCheck = differs ? sim.now() + 15_000 : nextCheck(row);
      row.nextCheckAt = state === finalState ? null : openCheck;
    }
    return [{ changed: 0 }];
  };

  const due = () =>
    [...rows].filter(([, { nextCheckAt }]) => nextCheckAt !== null && nextCheckAt <= sim.now());

  const claim: Handler = ([limit, leaseMs]) =>
    due()
      .sort(([, a], [, b]) => (a.nextCheckAt ?? 0) - (b.nextCheckAt ?? 0))
      .slice(0, Number(limit))
      .map(([order_no, row]) => {
        row.nextCheckAt = sim.now() + Number(leaseMs);
        return { order_no };
      });

  const countIncomplete: Handler = () => {
    const open = [...rows.values()].filter(({ nextCheckAt }) => nextCheckAt !== null);
    const final = open.filter(({ state }) => state === finalState);
    return [{ due: due().length, incomplete: open.length, final_incomplete: final.length }];
  };

  const setDue =
    (at: (row: Row) => number | null): Handler =>
    (params) => {
      for (const orderNo of params.find(Array.isArray) as string[]) {
        const row = rows.get(orderNo);
        if (row) row.nextCheckAt = at(row);
      }
      return [];
    };

  const execute = createStatementTable([
    ['ledger.rejects', () => []],
    ['as known_in', storeList],
    ['first_detail_at', storeDetails],
    ['for update skip locked', claim],
    ['as final_incomplete', countIncomplete],
    ['least(interval', setDue(nextCheck)],
    ['set next_check_at = now()', setDue((row) => (row.nextCheckAt === null ? null : sim.now()))],
  ]);
  return { rows, execute };
}
