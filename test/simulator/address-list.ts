/** One chain's address list, read into the pools in memory: the product's pass and page reader, under a lease. */
import { LedgerError } from '../../src/kernel/errors.ts';
import type { AddressRecord } from '../../src/kernel/wallet-records.ts';
import { efforts } from '../../src/sync/list/doubt.ts';
import { newCheckpoint } from '../../src/sync/list/list-checkpoint.ts';
import { createPageReader, type ListedPage } from '../../src/sync/list/list-pages.ts';
import type { ListPort, Stored } from '../../src/sync/list/list-port.ts';
import type { ListState } from '../../src/sync/list/list-state.ts';
import { readList } from '../../src/sync/list/read-list.ts';
import type { PoolPort, PoolTools } from '../../src/sync/pools/pool-port.ts';
import type { MemoryPools } from '../sync/memory-pools.ts';
import type { Simulation, Task } from './simulation.ts';

type Reader = { task: Task; instance: string; client: PoolTools['client'] };
type Pass = Parameters<PoolPort['readList']>[1];

const leaseMs = 30_000;
const pageSize = 10;

export class AddressList {
  readonly #sim: Simulation;
  readonly #pools: MemoryPools;
  readonly #slip44: number;
  readonly #isAlive: (owner: string) => boolean;
  readonly #noted = new Set<string>();
  #state: ListState = {
    listOrder: null,
    isOrderFixed: false,
    pageSize: null,
    serviceTotal: null,
    ledgerCount: 0,
    guests: 0,
    conflicts: 0,
    passes: 0,
    isBacked: false,
    acceptedDifference: 0,
    totalObservation: 0,
    checkpoint: newCheckpoint(pageSize),
  };
  #lease = { owner: '', until: 0 };

  constructor(
    sim: Simulation,
    pools: MemoryPools,
    slip44: number,
    isAlive: (owner: string) => boolean,
  ) {
    this.#sim = sim;
    this.#pools = pools;
    this.#slip44 = slip44;
    this.#isAlive = isAlive;
  }

  /** One pass, started again if another process has taken over the list; undefined: another process has it. */
  async read(reader: Reader, pass: Pass): Promise<{ missing: number | null } | undefined> {
    for (;;) {
      const owner = await this.#takeLease(reader, pass);
      if (owner === null) return undefined;
      try {
        return await this.#readLeased(reader, pass, owner);
      } catch (error) {
        if (!(error instanceof LedgerError && error.code === 'interrupted')) throw error;
      } finally {
        await this.#sim.enter(reader.task);
        if (this.#lease.owner === owner) this.#lease.owner = '';
      }
    }
  }

  async #takeLease({ task, instance }: Reader, pass: Pass): Promise<string | null> {
    for (;;) {
      await this.#sim.enter(task);
      const { owner, until } = this.#lease;
      if (owner === '' || until < this.#sim.now() || !this.#isAlive(owner)) break;
      if (pass.ifLeased === 'skip') return null;
      await this.#sim.sleep(250, pass.signal);
    }
    const passes = this.#state.passes + 1;
    this.#state = { ...this.#state, ledgerCount: this.#count(), passes };
    this.#lease = { owner: `${instance} ${passes}`, until: this.#sim.now() + leaseMs };
    return this.#lease.owner;
  }

  async #readLeased({ task, client }: Reader, { signal, effort }: Pass, owner: string) {
    const slip44 = this.#slip44;
    const pages = createPageReader<AddressRecord>(
      {
        keyOf: ({ address }) => address,
        timeOf: () => null,
        rejectSource: 'address-list',
        readPage: (pageNo, size) =>
          client.listAddresses({ slip44, pageNo, pageSize: size }, signal),
      },
      { requestedPageSize: this.#state.checkpoint.requestedPageSize, concurrency: 2, signal },
    );
    const port: ListPort<ListedPage<AddressRecord>> = {
      read: (page, upTo, isFresh = false) => pages.read(page, upTo, isFresh),
      readSized: pages.readSized,
      prepare:
        ({ pages: read }, state) =>
        (afterFinding) =>
          this.#commit(task, owner, () => {
            const keys = read.flatMap((page) => page.keys);
            const inserted = this.#pools.storeListed(slip44, keys);
            if (state.checkpoint.walk?.notesKeys) for (const key of keys) this.#noted.add(key);
            return { inserted, state: afterFinding({ inserted, differingDays: [] }) };
          }),
      ranks: null,
      notes: this.#notes(task, owner),
      unlist: null,
      isBatchFull: (rows) => rows >= pageSize,
      shouldPause: () => false,
      now: this.#sim.now,
      wait: (ms) => this.#sim.sleep(ms, signal),
    };
    try {
      return await readList(port, structuredClone(this.#state), efforts[effort]);
    } finally {
      pages.close();
    }
  }

  #notes(task: Task, owner: string): ListPort<ListedPage<AddressRecord>>['notes'] {
    const step = async <T>(work: () => T): Promise<T> => {
      await this.#sim.enter(task);
      return work();
    };
    const { addresses } = this.#pools.chain(this.#slip44);
    const save = (state: ListState) => this.#commit(task, owner, () => ({ inserted: 0, state }));
    return {
      begin: () => step(() => this.#noted.clear()),
      count: () => step(() => this.#noted.size),
      unseen: (limit) =>
        step(() => [...addresses.keys()].filter((key) => !this.#noted.has(key)).slice(0, limit)),
      dropUnseenGuests: save,
      verifyAll: save,
    };
  }

  /** Rows and state in one transaction, which only the holder of the lease may commit. */
  async #commit(
    task: Task,
    owner: string,
    work: () => { inserted: number; state: ListState },
  ): Promise<Stored> {
    await this.#sim.enter(task);
    if (this.#lease.owner !== owner) throw new LedgerError('interrupted', 'taken over');
    const { inserted, state } = work();
    const ledgerCount = this.#count();
    this.#state = structuredClone({ ...state, ledgerCount, passes: this.#state.passes });
    const { isBacked, serviceTotal } = state;
    this.#pools.chain(this.#slip44).list = { isBacked, serviceTotal, countAtLastPass: ledgerCount };
    this.#lease.until = this.#sim.now() + leaseMs;
    await this.#sim.enter(task);
    return { inserted, ledgerCount, guests: 0, conflicts: 0, differingDays: [] };
  }

  #count(): number {
    return this.#pools.chain(this.#slip44).addresses.size;
  }
}
