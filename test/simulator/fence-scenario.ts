/**
 * Answers that overtake one another: list readers and detail workers write the same rows, each answer with the number
 * of its request. The rule of the ledger decides which one counts.
 */
import { LedgerError } from '../../src/kernel/errors.ts';
import type { DetailTools } from '../../src/sync/details/detail-port.ts';
import { syncDetailsThrough } from '../../src/sync/details/sync-details.ts';
import { type FenceRule, finalState, MemoryTransactions } from './memory-transactions.ts';
import { quietLog } from './quiet-log.ts';
import type { Scenario } from './scenario.ts';
import { createSimulation, type Simulation, type Task } from './simulation.ts';
import { letTimeBe } from './virtual-time.ts';

export type FenceDecisions = { syncDetails: typeof syncDetailsThrough; mayOverwrite: FenceRule };

/** The claim of a dead worker, a round of every job, and the longest delay of an answer. */
const settledWithinMs = 30_000 + 15_000 + 10_000 + 60_000;

class FenceWorld {
  readonly sim: Simulation;
  readonly decisions: FenceDecisions;
  readonly ledger: MemoryTransactions;
  /** Order → state at the service; states only go forward. */
  readonly service = new Map<string, string>();
  isCalm = false as boolean;
  calmSince = 0;
  #tickets = 0;

  constructor(sim: Simulation, decisions: FenceDecisions) {
    this.sim = sim;
    this.decisions = decisions;
    this.ledger = new MemoryTransactions(sim, decisions.mayOverwrite);
    for (let n = 1 + sim.random.below(3); n > 0; n -= 1) this.service.set(`order-${n}`, 'step 0');
  }

  async progress(task: Task): Promise<void> {
    const { sim, service } = this;
    const orders = [...service.keys()];
    for (let step = 1; step <= 3; step += 1) {
      for (const order of orders) {
        if (sim.random.chance(0.5)) await sim.sleep(sim.random.below(20_000));
        await sim.enter(task);
        service.set(order, step === 3 ? finalState : `step ${step}`);
      }
    }
    this.isCalm = true;
    this.calmSince = sim.now();
  }

  async #travel(task: Task): Promise<void> {
    await this.sim.enter(task);
    if (this.sim.random.chance(0.3)) await this.sim.sleep(this.sim.random.below(5_000));
  }

  /** The next request with its number, the answer of the service, and its way back. */
  async #ask<T>(task: Task, answer: () => T): Promise<{ observation: number; value: T }> {
    await this.sim.enter(task);
    this.#tickets += 1;
    const observation = this.#tickets;
    await this.#travel(task);
    const value = answer();
    await this.#travel(task);
    const isLost = !this.isCalm && this.sim.random.chance(0.03);
    if (isLost) throw new LedgerError('service-unreachable', 'no answer');
    const isRefused = !this.isCalm && this.sim.random.chance(0.03);
    if (isRefused) throw new LedgerError('service-refused', 'not this one');
    return { observation, value };
  }

  async lister(task: Task): Promise<void> {
    for (;;) {
      await this.#listOnce(task).catch(ofService);
      await this.sim.sleep(this.sim.random.below(15_000));
    }
  }

  async #listOnce(task: Task): Promise<void> {
    const { observation, value } = await this.#ask(task, () => [...this.service]);
    await this.sim.enter(task);
    this.ledger.storeListed(value.map(([orderNo, state]) => ({ orderNo, state, observation })));
  }

  async detailer(task: Task): Promise<void> {
    const { sim } = this;
    const context = this.#tools(task);
    const { signal } = new AbortController();
    for (;;) {
      await this.decisions.syncDetails(context, signal).catch(ofService);
      await sim.sleep(10_000);
    }
  }

  #tools(task: Task): DetailTools {
    const { sim } = this;
    const details = this.ledger.details(async (work) => {
      await sim.enter(task);
      const result = work();
      await sim.enter(task);
      return result;
    });
    const getTransaction: DetailTools['client']['getTransaction'] = async (orderNo) => {
      const { observation, value } = await this.#ask(task, () => this.service.get(orderNo));
      return { observation, records: [{ ...bare, orderNo, state: value ?? null }], rejects: [] };
    };
    return { details, client: { getTransaction }, log: quietLog, settings: { concurrency: 1 } };
  }

  /** Every row is complete and equal to the service: its detail was seen since it became final. */
  isSettled(): boolean {
    const { ledger, service, sim } = this;
    if (!this.isCalm) return false;
    const late = [...service].filter(([orderNo, state]) => {
      const row = ledger.rows.get(orderNo);
      return row?.state !== state || row.nextCheckAt !== null || !row.isDetailed;
    });
    if (late.length > 0 && sim.now() > this.calmSince + settledWithinMs)
      sim.violate(`${late[0]?.[0]} is not complete long after the last change`);
    return late.length === 0;
  }
}

const bare = {
  requestId: null,
  symbol: null,
  txHash: null,
  fromAddress: null,
  toAddress: null,
  amount: null,
  confirmNum: null,
  fee: null,
  feeSymbol: null,
  type: null,
  occurredAt: null,
  extra: null,
};

function ofService(error: unknown): void {
  if (!(error instanceof LedgerError)) throw error;
}

export const fenceScenario: Scenario<FenceDecisions> = {
  name: 'fence',
  decisions: {
    syncDetails: syncDetailsThrough,
    mayOverwrite: (incoming, stored) => incoming > stored,
  },
  async play(seed, decisions) {
    const sim = createSimulation(seed, { stepsMax: 20_000 });
    letTimeBe(sim);
    const world = new FenceWorld(sim, decisions);
    sim.start('service', (task) => world.progress(task));
    const work = [1, 2].flatMap(() => [
      (task: Task) => world.lister(task),
      (task: Task) => world.detailer(task),
    ]);
    const tasks = work.map((each) => sim.start('worker', each));
    let kills = sim.random.below(3);
    sim.onStep(() => {
      if (kills === 0 || world.isCalm || !sim.random.chance(0.03)) return;
      kills -= 1;
      const victim = sim.random.below(tasks.length);
      const dying = tasks[victim];
      const again = work[victim];
      if (!dying || !again) return;
      sim.kill(dying);
      tasks[victim] = sim.start('worker', again);
    });
    await sim.drive(() => world.isSettled());
    return sim;
  },
};
