/**
 * Daemons that read one moving list: the product's passes and page reader, with a service whose rows arrive, appear
 * late and vanish between any two requests, and whose answers arrive in any order.
 */
import { LedgerError } from '../../src/kernel/errors.ts';
import { efforts } from '../../src/sync/list/doubt.ts';
import {
  createPageReader,
  type ListedPage,
  type ListSource,
} from '../../src/sync/list/list-pages.ts';
import type { ListPort } from '../../src/sync/list/list-port.ts';
import { isProven, type ListState } from '../../src/sync/list/list-state.ts';
import { readList } from '../../src/sync/list/read-list.ts';
import { ListModel, type ShownPage } from '../sync/list-model.ts';
import type { Scenario } from './scenario.ts';
import { createSimulation, type Simulation, type Task } from './simulation.ts';
import { letTimeBe } from './virtual-time.ts';

export type WalkDecisions = { readList: typeof readList };

type Row = { key: string; time: number };

const calmPassesMax = 16;

class WalkWorld {
  readonly model: ListModel;
  readonly sim: Simulation;
  readonly decisions: WalkDecisions;
  /** Without removals, lags and changing page boundaries every guarantee holds in full. */
  readonly isStrict: boolean;
  readonly concurrency: number;
  isCalm = false as boolean;
  isSettled = false as boolean;
  #lease: Task | null = null;
  #tickets = 0;
  #passesInCalm = 0;

  constructor(sim: Simulation, decisions: WalkDecisions) {
    const { random } = sim;
    this.sim = sim;
    this.decisions = decisions;
    this.isStrict = random.chance(0.7);
    this.concurrency = 1 + random.below(2);
    const order = random.pick(['newest-first', 'oldest-first', 'unordered']);
    this.model = new ListModel(order, 2 + random.below(4), random.chance(0.3));
    this.model.timeStep = random.pick([1, 1, 20]);
    this.model.arrive(random.below(16));
  }

  /** Changes the list, a little at a time. */
  async happen(task: Task): Promise<void> {
    const { random } = this.sim;
    for (let left = random.below(9); left > 0; left -= 1) {
      for (let wait = random.below(6); wait >= 0; wait -= 1) await this.sim.enter(task);
      const what = random.below(this.isStrict ? 2 : 5);
      if (what === 0) this.model.arrive(1 + random.below(5));
      if (what === 1) this.model.late(random.next());
      if (what === 2) this.model.remove(random.next());
      if (what === 3) this.model.lag = random.below(3);
      if (what === 4) this.model.size = 2 + random.below(4);
    }
    this.model.lag = 0;
    this.isCalm = true;
  }

  /** One daemon: one pass after the other, until the list no longer changes and is proven. */
  async daemon(task: Task): Promise<void> {
    while (!this.isSettled) {
      await this.sim.enter(task);
      const isHeld = this.#lease?.isAlive && !this.sim.random.chance(0.02);
      if (isHeld) {
        // Waiting costs the loser only turns; time must pass so that the holder can continue.
        await this.sim.sleep(500);
        continue;
      }
      this.#lease = task;
      await this.#pass(task).catch((error) => {
        if (!(error instanceof LedgerError)) throw error;
      });
      if (this.#lease === task) this.#lease = null;
    }
  }

  async #pass(task: Task): Promise<void> {
    const { model, sim } = this;
    const stored = model.beginPass();
    const atStart = model.rows.map((row) => row.key);
    const wasCalm = this.isCalm;
    const walksBefore = stored.checkpoint.walks;
    const { port, close } = this.#port(task, atStart);
    const verdict = await this.decisions.readList(port, stored, efforts.backfill);
    close();
    const hasWalked = model.stored.checkpoint.walks > walksBefore;
    if ((verdict.isComplete || hasWalked) && !verdict.isPaused && this.isStrict) {
      this.#mustHold(atStart, verdict.isComplete ? 'proven' : 'walked');
    }
    if (!wasCalm) return;
    this.#passesInCalm += 1;
    // Rows that vanished during a scan stay listed until the audit reads them: proof and counts wait for it.
    const isRested = verdict.isComplete || (!this.isStrict && (verdict.missing ?? 0) < 0);
    if (isRested) {
      this.#mustHold(atStart, 'settled');
      this.isSettled = true;
    } else if (this.#passesInCalm > calmPassesMax) {
      sim.violate(`not proven after ${calmPassesMax} passes over a list that rests`);
    }
  }

  /** Rows that were listed when the pass began and still are; none returns, so they were there throughout. */
  #mustHold(atStart: string[], what: string): void {
    const { ledger, rows, wronglyUnlisted } = this.model;
    const listed = new Set(rows.map((row) => row.key));
    const lost = atStart.filter((key) => listed.has(key) && !ledger.has(key));
    // A row that vanished and is still counted hides a missing one: counts cannot distinguish them.
    const hidden = [...ledger.keys()].filter((key) => !listed.has(key)).length;
    if (lost.length > hidden)
      this.sim.violate(`${what}, but ${lost[0]} was listed throughout and is missing`);
    if (wronglyUnlisted.length > 0)
      this.sim.violate(`${wronglyUnlisted[0]} is listed and was unlisted`);
  }

  #port(task: Task, atStart: string[]): { port: ListPort<ListedPage<Row>>; close(): void } {
    const { sim, model, concurrency } = this;
    const aborting = new AbortController();
    const { requestedPageSize } = model.stored.checkpoint;
    const pages = createPageReader(this.#source(task), {
      requestedPageSize,
      concurrency,
      signal: aborting.signal,
    });
    const { prepare, ranks, notes, unlist } = model.port();
    const commit = async (committed: () => ListState) => {
      await sim.enter(task);
      if (this.#lease !== task) throw new LedgerError('interrupted', 'taken over');
      // Checks the claim that the ledger makes from this commit on.
      return () => {
        const { ledger } = model;
        if (this.isStrict && isProven({ ...committed(), ledgerCount: ledger.size }))
          this.#mustHold(atStart, 'is_complete');
      };
    };
    const port: ListPort<ListedPage<Row>> = {
      read: (page, upTo, isFresh = false) => pages.read(page, upTo, isFresh),
      readSized: pages.readSized,
      prepare({ pages: read, ...batch }, state) {
        const write = prepare({ pages: read.map(shownPage), ...batch }, state);
        return async (afterFinding) => {
          let committed = state;
          const check = await commit(() => committed);
          const stored = await write((found) => {
            committed = afterFinding(found);
            return committed;
          });
          check();
          return stored;
        };
      },
      ranks: ranks && {
        async countUntil(time) {
          await sim.enter(task);
          return await ranks.countUntil(time);
        },
        async listedButNotSeen(pages, span) {
          await sim.enter(task);
          return await ranks.listedButNotSeen(pages.map(shownPage), span);
        },
        undated: ranks.undated,
        days: ranks.days,
      },
      notes,
      unlist: async (keys, state) => {
        const check = await commit(() => state);
        const stored = await unlist?.(keys, state);
        check();
        if (!stored) throw new Error('the model marks rows as gone');
        return stored;
      },
      now: () => model.time,
      wait: (ms) => sim.sleep(ms),
      isBatchFull: (rows) => rows >= 8,
      shouldPause: () => pages.aheadCount() === 0 && sim.random.chance(0.1),
    };
    return { port, close: () => pages.close() };
  }

  #source(task: Task): ListSource<Row> {
    const { sim, model } = this;
    return {
      keyOf: (row) => row.key,
      timeOf: (row) => row.time,
      rejectSource: 'transaction-list',
      readPage: async (pageNo) => {
        await sim.enter(task);
        this.#tickets += 1;
        const observation = this.#tickets;
        await sim.enter(task);
        const { keys, times, size, total } = model.answer(pageNo, observation);
        await sim.enter(task);
        const isLost = !this.isCalm && sim.random.chance(0.01);
        if (isLost) throw new LedgerError('service-unreachable', 'no answer');
        const records = keys.map((key, index) => ({ key, time: times[index] ?? 0 }));
        return {
          observation,
          pageNo,
          pageSize: size,
          totalSize: total,
          listed: keys.length,
          records,
          rejects: [],
        };
      },
    };
  }
}

function shownPage(page: ListedPage<Row>): ShownPage {
  return { ...page, keys: page.content.records.map((row) => row.key) };
}

export const walkScenario: Scenario<WalkDecisions> = {
  name: 'walk',
  decisions: { readList },
  async play(seed, decisions) {
    const sim = createSimulation(seed, { stepsMax: 20_000 });
    letTimeBe(sim);
    const world = new WalkWorld(sim, decisions);
    sim.start('service', (task) => world.happen(task));
    const daemons = [1, 2].map((n) => sim.start(`daemon ${n}`, (task) => world.daemon(task)));
    let kills = sim.random.below(3);
    sim.onStep(() => {
      if (kills === 0 || !sim.random.chance(0.01)) return;
      kills -= 1;
      const victim = sim.random.below(daemons.length);
      const dying = daemons[victim];
      if (!dying?.isAlive || dying.isEnded) return;
      sim.kill(dying);
      daemons[victim] = sim.start('daemon again', (task) => world.daemon(task));
    });
    await sim.drive(() => world.isSettled);
    if (!world.isSettled && sim.violations.length === 0) sim.violate('the daemons stand still');
    return sim;
  },
};
