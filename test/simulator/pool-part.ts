/**
 * Daemons that fill one pool: the product's whole protocol, from `fillPools` down to its statements, over a service
 * that loses answers, refuses, and lists late what it has generated.
 */
import { LedgerError } from '../../src/kernel/errors.ts';
import { fillPools } from '../../src/sync/fill-pools.ts';
import { syncAddresses } from '../../src/sync/sync-addresses.ts';
import type { SyncTools } from '../../src/sync/sync-tools.ts';
import { createModelPool, type ModelPool } from './model-pool.ts';
import type { Part } from './part.ts';
import { poolLedger } from './pool-ledger.ts';
import { quietLog } from './quiet-log.ts';
import { createSimulation, type Simulation, type Task } from './simulation.ts';
import { letTimeBe } from './virtual-time.ts';

export type PoolDecisions = { fillPools: typeof fillPools };

const settleMs = 10_000;
/** As the job sync-addresses by default. */
const listEveryMs = 600_000;
const travelMaxMs = 900;
/** Refusals hold a pool off for an hour at the most. */
const calmMaxMs = 3 * 3_600_000;

class PoolWorld {
  readonly sim: Simulation;
  readonly decisions: PoolDecisions;
  readonly pool: ModelPool;
  readonly maxPerDay: number;
  readonly target: number;
  isCalm = false as boolean;
  calmSince = 0;
  /** Address → when it was generated; those of before the program's time included. */
  readonly generated = new Map<string, number>();
  #ours = 0;
  #taken = 0;
  #alive = new Map<string, Task>();
  #names = 0;
  #requests = 0;
  readonly #listLagMs: number;
  /** The list shows new addresses only after it was believed: they are not ours then, but the ceiling holds. */
  readonly #isListLate: boolean;

  constructor(sim: Simulation, decisions: PoolDecisions) {
    const { random } = sim;
    this.sim = sim;
    this.decisions = decisions;
    this.target = 4 + random.int(6);
    this.maxPerDay = random.pick(10_000, 3 + random.int(20));
    this.#isListLate = random.chance(0.3);
    const lagMax = this.#isListLate ? 600_000 : settleMs - 2 * travelMaxMs - 1_000;
    this.#listLagMs = random.int(lagMax);
    const limits = { threshold: 1 + random.int(this.target), target: this.target };
    this.pool = createModelPool(sim, limits, (owner) => this.#isSeen(owner));
    for (let n = random.int(6); n > 0; n -= 1) this.generated.set(`old-${n}`, -1_000_000);
  }

  /** Whether the database still sees a connection of that name. */
  #isSeen(owner: string): boolean {
    for (const name of this.#alive.keys()) if (owner.startsWith(name)) return true;
    return false;
  }

  async customers(task: Task): Promise<void> {
    const { sim, pool } = this;
    for (let left = sim.random.int(6); left > 0; left -= 1) {
      await sim.sleep(sim.random.int(40_000));
      await sim.enter(task);
      this.#taken += pool.assign(sim.random.int(5));
    }
    this.isCalm = true;
    this.calmSince = sim.now();
  }

  async daemon(task: Task): Promise<void> {
    const { sim } = this;
    const instance = this.#show(task, 'daemon');
    const tools = this.#tools(task, instance);
    const { signal } = new AbortController();
    for (let listedAt = sim.now(); ; ) {
      const whenBusy = sim.random.pick('skip', 'skip', 'wait');
      await this.decisions.fillPools(tools, { signal, whenBusy }).catch((error) => {
        if (!(error instanceof LedgerError)) throw error;
      });
      if (sim.now() > listedAt + listEveryMs) {
        listedAt = sim.now();
        const pass = { signal, whenLeased: 'skip', sliceMs: null, effort: 'pool' } as const;
        await syncAddresses(tools, pass).catch((error) => {
          if (!(error instanceof LedgerError)) throw error;
        });
      }
      await sim.sleep(sim.random.int(this.isCalm ? 120_000 : 30_000));
    }
  }

  #show(task: Task, kind: string): string {
    this.#names += 1;
    const name = `${kind}-${this.#names}.`;
    this.#alive.set(name, task);
    return name;
  }

  kill(task: Task): void {
    this.sim.kill(task);
    for (const [name, owner] of this.#alive) {
      if (owner !== task) continue;
      // The server hears of it at once, or when the connection's keep-alive gives up.
      this.sim.setTimer(this.sim.random.pick(0, 5_000, 60_000), () => {
        this.#alive.delete(name);
        return undefined;
      });
    }
  }

  #tools(task: Task, instance: string): SyncTools {
    const ledger = poolLedger(this.sim, this.pool, task, {
      instance,
      show: () => this.#show(task, 'presence'),
      isShown: (name) => this.#alive.has(name),
      hide: (name) => this.#alive.delete(name),
    });
    const client = {
      generateAddresses: ({ num }: { num: number }) => this.#generate(task, num),
      listAddresses: (query: { slip44: number; pageNo: number; pageSize: number }) =>
        this.#list(task, query),
    };
    return {
      ledger,
      client,
      log: quietLog,
      clock: this.sim.now,
      settings: {
        pageSize: 10,
        listOrder: null,
        concurrency: 2,
        auditShare: 0,
        chains: [60],
        pools: { settleMs, maxPerDay: this.maxPerDay },
        chainParam: 'slip44',
      },
    } as unknown as SyncTools;
  }

  async #travel(task: Task): Promise<void> {
    await this.sim.enter(task);
    if (this.sim.random.chance(0.5)) await this.sim.sleep(this.sim.random.int(travelMaxMs));
  }

  async #generate(task: Task, num: number) {
    const { sim, pool } = this;
    const asked = pool.open();
    await this.#travel(task);
    const open = pool.open();
    if (open?.id !== asked?.id) sim.violate('sent while another request was open');
    const happens = this.isCalm
      ? 'clear'
      : sim.random.pick('clear', 'clear', 'refused', 'lost', 'never');
    if (happens === 'refused') throw new LedgerError('service-refused', 'not now');
    const records: { address: string }[] = [];
    for (let n = 0; n < num && happens !== 'never'; n += 1) {
      this.#ours += 1;
      records.push({ address: `ours-${this.#ours}` });
      this.generated.set(`ours-${this.#ours}`, sim.now());
    }
    if (this.#ours > this.maxPerDay) sim.violate(`the ceiling of ${this.maxPerDay} was crossed`);
    if (!this.#isListLate && this.#ours > this.#taken + this.target)
      sim.violate('more was asked for than the pool holds');
    await this.#travel(task);
    if (happens !== 'clear') throw new LedgerError('service-unreachable', 'no answer');
    return { observation: 0, records, rejects: [] };
  }

  async #list(
    task: Task,
    { slip44, pageNo, pageSize }: { slip44: number; pageNo: number; pageSize: number },
  ) {
    const { sim } = this;
    await this.#travel(task);
    this.#requests += 1;
    const observation = this.#requests;
    const listed: { address: string }[] = [];
    for (const [address, at] of this.generated)
      if (slip44 === 60 && at + this.#listLagMs <= sim.now()) listed.unshift({ address });
    const records = listed.slice((pageNo - 1) * pageSize, pageNo * pageSize);
    const totalSize = listed.length;
    await this.#travel(task);
    if (!this.isCalm && sim.random.chance(0.03))
      throw new LedgerError('service-unreachable', 'no answer');
    return {
      observation,
      pageNo,
      pageSize,
      totalSize,
      listed: records.length,
      records,
      rejects: [],
    };
  }

  /** Whether the pool is as full as it may be, with nothing in doubt. */
  isOver(): boolean {
    const { pool, sim } = this;
    if (!this.isCalm || sim.now() < this.calmSince + settleMs) return false;
    const isDone = pool.open() === undefined && pool.available() >= this.target;
    const isAtCeiling = pool.open() === undefined && pool.generated24h() >= this.maxPerDay;
    const isRested = pool.open() === undefined && this.#isNotFilling();
    if (isDone || isAtCeiling || isRested) return true;
    if (sim.now() > this.calmSince + calmMaxMs)
      sim.violate(`the pool holds ${pool.available()} of ${this.target} long after the last fault`);
    return false;
  }

  /** Above its threshold a pool rests. */
  #isNotFilling(): boolean {
    const [facts] = this.pool.facts();
    return facts?.['isFilling'] === false;
  }

  checkEnd(): void {
    const { pool, sim } = this;
    for (const [address] of this.generated) {
      const kept = pool.addresses.get(address);
      if (!this.#isListLate && address.startsWith('ours') && !kept)
        sim.violate(`${address} was generated and is lost`);
      if (address.startsWith('old') && kept && kept.status !== 'foreign')
        sim.violate(`${address} is not ours and was handed out`);
    }
  }
}

export const poolPart: Part<PoolDecisions> = {
  name: 'pool',
  decisions: { fillPools },
  async play(seed, decisions) {
    const sim = createSimulation(seed, { stepsMax: 50_000 });
    letTimeBe(sim);
    const world = new PoolWorld(sim, decisions);
    sim.start('customers', (task) => world.customers(task));
    const daemons = [1, 2].map(() => sim.start('daemon', (task) => world.daemon(task)));
    let kills = sim.random.int(4);
    sim.onStep(() => {
      if (kills === 0 || world.isCalm || !sim.random.chance(0.03)) return;
      kills -= 1;
      const victim = sim.random.int(daemons.length);
      const dying = daemons[victim];
      if (dying) world.kill(dying);
      daemons[victim] = sim.start('daemon', (task) => world.daemon(task));
    });
    await sim.drive(() => world.isOver());
    if (sim.violations.length === 0) world.checkEnd();
    return sim;
  },
};
