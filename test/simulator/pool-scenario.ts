/**
 * Daemons that fill one pool: the product's whole protocol, through its ports, with a service that loses answers,
 * refuses, and lists generated addresses late.
 */
import { LedgerError } from '../../src/kernel/errors.ts';
import { fillPoolsThrough } from '../../src/sync/pools/fill-pools.ts';
import type { PoolPort, PoolTools } from '../../src/sync/pools/pool-port.ts';
import { MemoryPools } from '../sync/memory-pools.ts';
import { AddressList } from './address-list.ts';
import { quietLog } from './quiet-log.ts';
import type { Scenario } from './scenario.ts';
import { createSimulation, type Simulation, type Task } from './simulation.ts';
import { letTimeBe } from './virtual-time.ts';

export type PoolDecisions = { fillPools: typeof fillPoolsThrough };

const slip44 = 60;
const dayMs = 86_400_000;

const settleMs = 10_000;
/** The default of the job sync-addresses. */
const listEveryMs = 600_000;
const travelMaxMs = 900;
/** Refusals delay a pool by at most an hour. */
const calmMaxMs = 3 * 3_600_000;

class PoolWorld {
  readonly sim: Simulation;
  readonly decisions: PoolDecisions;
  readonly pools: MemoryPools;
  readonly list: AddressList;
  readonly maxPerDay: number;
  readonly target: number;
  isCalm = false as boolean;
  calmSince = 0;
  /** Time at which each address was generated, including those from before the program. */
  readonly generated = new Map<string, number>();
  #ours = 0;
  #taken = 0;
  #alive = new Map<string, Task>();
  #names = 0;
  #requests = 0;
  readonly #listLagMs: number;
  /** The list shows new addresses only after it was trusted: they are not ours then, but the ceiling holds. */
  readonly #isListLate: boolean;

  /** Maximum pauses of customers and daemons. */
  readonly #pauseMs: number;

  constructor(sim: Simulation, decisions: PoolDecisions, isScarce: boolean) {
    const { random } = sim;
    this.sim = sim;
    this.decisions = decisions;
    this.target = 4 + random.below(6);
    this.maxPerDay = isScarce ? 3 + random.below(20) : random.pick([10_000, 3 + random.below(20)]);
    this.#pauseMs = isScarce ? random.pick([40_000, 8_000_000]) : 40_000;
    this.#isListLate = random.chance(0.3);
    const lagMax = this.#isListLate ? 600_000 : settleMs - 2 * travelMaxMs - 1_000;
    this.#listLagMs = random.below(lagMax);
    const isSeen = (owner: string) => this.#isSeen(owner);
    this.pools = new MemoryPools(sim.now, isSeen);
    this.pools.addPool(slip44, 1 + random.below(this.target), this.target);
    this.list = new AddressList(sim, this.pools, slip44, isSeen);
    for (let n = random.below(6); n > 0; n -= 1) this.generated.set(`old-${n}`, -1_000_000);
  }

  /** Returns true if the database still sees a connection with that name. */
  #isSeen(owner: string): boolean {
    for (const name of this.#alive.keys()) if (owner.startsWith(name)) return true;
    return false;
  }

  async customers(task: Task): Promise<void> {
    const { sim, pools } = this;
    for (let left = sim.random.below(6); left > 0; left -= 1) {
      await sim.sleep(sim.random.below(this.#pauseMs));
      await sim.enter(task);
      this.#taken += pools.assign(slip44, sim.random.below(5));
    }
    this.isCalm = true;
    this.calmSince = sim.now();
  }

  async daemon(task: Task): Promise<void> {
    const { sim } = this;
    const instance = this.#show(task, 'daemon');
    const context = this.#tools(task, instance);
    const { signal } = new AbortController();
    for (let listedAt = sim.now(); ; ) {
      const whenBusy = sim.random.pick(['skip', 'skip', 'wait']);
      await this.decisions.fillPools(context, { signal, whenBusy }).catch((error) => {
        if (!(error instanceof LedgerError)) throw error;
      });
      if (sim.now() > listedAt + listEveryMs) {
        listedAt = sim.now();
        const pass = { signal, ifLeased: 'skip', sliceMs: null, effort: 'pool' } as const;
        await context.pools.readList(slip44, pass).catch((error) => {
          if (!(error instanceof LedgerError)) throw error;
        });
      }
      await sim.sleep(sim.random.below(this.isCalm ? 120_000 : this.#pauseMs));
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
      // The server learns of it at once, or when the keep-alive of the connection times out.
      this.sim.setTimer(this.sim.random.pick([0, 5_000, 60_000]), () => {
        this.#alive.delete(name);
        return undefined;
      });
    }
  }

  #tools(task: Task, instance: string): PoolTools {
    const client: PoolTools['client'] = {
      generateAddresses: ({ num }) => this.#generate(task, num),
      listAddresses: (query) => this.#list(task, query),
      listCoins: () => this.#coins(task),
    };
    return {
      pools: this.#port(task, instance, client),
      client,
      log: quietLog,
      settings: {
        pageSize: 10,
        chains: [slip44],
        pools: { settleMs, maxPerDay: this.maxPerDay },
        chainParam: 'slip44',
      },
    };
  }

  /** Each transaction is one step of the task, which may end after the commit without learning of it. */
  #port(task: Task, instance: string, client: PoolTools['client']): PoolPort {
    let shown: string | null = null;
    const run = async <T>(work: () => T): Promise<T> => {
      await this.sim.enter(task);
      const result = work();
      await this.sim.enter(task);
      return result;
    };
    const hold = () => {
      shown ??= this.#show(task, 'presence');
      return shown;
    };
    return {
      ...this.pools.transactions({ held: () => shown, hold }, run),
      readList: (_, pass) => this.list.read({ task, instance, client }, pass),
      end: () =>
        run(() => {
          if (shown !== null) this.#alive.delete(shown);
          shown = null;
        }),
    };
  }

  async #travel(task: Task): Promise<void> {
    await this.sim.enter(task);
    if (this.sim.random.chance(0.5)) await this.sim.sleep(this.sim.random.below(travelMaxMs));
  }

  async #generate(task: Task, num: number) {
    const { sim, pools } = this;
    const asked = pools.open(slip44);
    await this.#travel(task);
    const open = pools.open(slip44);
    if (open?.id !== asked?.id) sim.violate('sent while another request was open');
    const happens = this.isCalm
      ? 'clear'
      : sim.random.pick(['clear', 'clear', 'refused', 'lost', 'never']);
    if (happens === 'refused') throw new LedgerError('service-refused', 'not now');
    const records: { address: string }[] = [];
    for (let n = 0; n < num && happens !== 'never'; n += 1) {
      this.#ours += 1;
      records.push({ address: `ours-${this.#ours}` });
      this.generated.set(`ours-${this.#ours}`, sim.now());
    }
    if (this.#oursOfDay() > this.maxPerDay)
      sim.violate(`the ceiling of ${this.maxPerDay} was crossed`);
    if (!this.#isListLate && this.#ours > this.#taken + this.target)
      sim.violate('more was asked for than the pool holds');
    await this.#travel(task);
    if (happens !== 'clear') throw new LedgerError('service-unreachable', 'no answer');
    return { observation: 0, records, rejects: [] };
  }

  #oursOfDay(): number {
    let generated = 0;
    for (const [address, at] of this.generated)
      generated += Number(address.startsWith('ours') && at > this.sim.now() - dayMs);
    return generated;
  }

  async #list(
    task: Task,
    { slip44: chain, pageNo, pageSize }: Parameters<PoolTools['client']['listAddresses']>[0],
  ) {
    const { sim } = this;
    await this.#travel(task);
    this.#requests += 1;
    const observation = this.#requests;
    const listed: { address: string }[] = [];
    for (const [address, at] of this.generated)
      if (chain === slip44 && at + this.#listLagMs <= sim.now()) listed.unshift({ address });
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

  /** The wallet has one chain only. */
  async #coins(task: Task) {
    await this.#travel(task);
    this.#requests += 1;
    const coin = { slip44, symbol: 'ETH', contractAddress: '', name: null, decimals: null };
    const records = [{ ...coin, depositState: 1, withdrawState: 1 }];
    return { observation: this.#requests, records, rejects: [] };
  }

  /**
   * Returns true if the pool is as full as allowed, without a request in doubt; reports a pool that is not full in
   * time.
   */
  isOver(): boolean {
    const { pools, sim, maxPerDay } = this;
    if (!this.isCalm || sim.now() < this.calmSince + settleMs) return false;
    if (!pools.open(slip44)) {
      const { available, isFilling } = pools.facts(slip44, null);
      const isFull = available >= this.target;
      // A pool above its threshold needs no request.
      if (isFull || !isFilling || pools.generated24h(slip44) >= maxPerDay) return true;
    }
    if (sim.now() > this.calmSince + calmMaxMs) {
      const available = pools.available(slip44);
      sim.violate(`the pool holds ${available} of ${this.target} long after the last fault`);
    }
    return false;
  }

  checkEnd(): void {
    const { pools, sim } = this;
    const { addresses } = pools.chain(slip44);
    for (const [address] of this.generated) {
      const kept = addresses.get(address);
      if (!this.#isListLate && address.startsWith('ours') && !kept)
        sim.violate(`${address} was generated and is lost`);
      if (address.startsWith('old') && kept && kept.status !== 'foreign')
        sim.violate(`${address} is not ours and was handed out`);
    }
  }
}

const scenarioOf = (isScarce: boolean): Scenario<PoolDecisions> => ({
  name: 'pool',
  decisions: { fillPools: fillPoolsThrough },
  async play(seed, decisions) {
    const sim = createSimulation(seed, { stepsMax: 50_000 });
    letTimeBe(sim);
    const world = new PoolWorld(sim, decisions, isScarce);
    sim.start('customers', (task) => world.customers(task));
    const daemons = [1, 2].map(() => sim.start('daemon', (task) => world.daemon(task)));
    let kills = sim.random.below(4);
    sim.onStep(() => {
      if (kills === 0 || world.isCalm || !sim.random.chance(0.03)) return;
      kills -= 1;
      const victim = sim.random.below(daemons.length);
      const dying = daemons[victim];
      if (dying) world.kill(dying);
      daemons[victim] = sim.start('daemon', (task) => world.daemon(task));
    });
    await sim.drive(() => world.isOver());
    if (sim.violations.length === 0) world.checkEnd();
    return sim;
  },
});

export const poolScenario = scenarioOf(false);
/** The ceiling is low, and a day may end. */
export const scarcePoolScenario = scenarioOf(true);
