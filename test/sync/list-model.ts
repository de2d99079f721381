import type { ListOrder } from '../../src/kernel/list-order.ts';
import { newCheckpoint } from '../../src/sync/list-checkpoint.ts';
import type { ListPort, Stored } from '../../src/sync/list-port.ts';
import type { ListState, PageFacts } from '../../src/sync/list-state.ts';
import { dayOf, type ReadDays } from '../../src/sync/read-days.ts';

type Row = { key: string; time: number };

/** What happens at the service between two requests. */
export type Happening =
  | { kind: 'arrive'; count: number }
  | { kind: 'late'; at: number }
  | { kind: 'resize'; size: number }
  | { kind: 'lag'; rows: number }
  | { kind: 'remove'; at: number }
  | { kind: 'kill' }
  | { kind: 'nothing' };

/** A page as the model serves it. */
export type ShownPage = PageFacts;

export class Killed extends Error {}

const startMs = 1_000_000_000_000;

/** A list that moves while it is read, and the ledger beside it; time passes with each request. */
export class ListModel {
  rows: Row[] = [];
  /** Listed rows in the ledger, with their times. */
  ledger = new Map<string, number>();
  /** Rows that were marked as gone although the service lists them. */
  wronglyUnlisted: string[] = [];
  /** Days that were marked as verified, and what the service listed of them then. */
  verified = new Map<number, string[]>();
  /** Keys that a scan has noted. */
  noted = new Set<string>();
  /** Unix ms; waits and passes move it on. */
  time = 1_700_000_000_000;
  stored: ListState;
  requests = 0;
  order: ListOrder | 'shuffled';
  size: number;
  lag = 0;
  beyondEnd: 'empty' | 'last-page' = 'empty';
  /** Times are cut to multiples of it, so that several rows share one. */
  timeStep = 1;
  /** Time between two arrivals: with hours, a list of a hundred rows spans days. */
  stepMs = 7_200_000;
  #clock = startMs;
  #serial = 0;
  #script: Happening[] = [];
  #observation = 0;
  /** The rows that stood in the list when each answer was given, and the latest answer that was taken. */
  #standing = new Map<number, string[]>();
  #latestTaken = 0;

  constructor(order: ListOrder | 'shuffled', size: number, isOrderFixed = false) {
    this.order = order;
    this.size = size;
    this.stored = {
      listOrder: isOrderFixed && order !== 'shuffled' ? order : null,
      isOrderFixed,
      pageSize: null,
      serviceTotal: null,
      ledgerCount: 0,
      guests: 0,
      passes: 0,
      isBacked: false,
      acceptedDifference: 0,
      checkpoint: newCheckpoint(size),
    };
  }

  arrive(count: number): string[] {
    return Array.from({ length: count }, () => {
      this.#clock += this.stepMs;
      return this.#insert(this.#clock);
    });
  }

  /** A row that turns up in the past; `at` in [0, 1] of the history. Times stay distinct. */
  late(at: number): string {
    const time = startMs + Math.floor(at * (this.#clock - startMs));
    return this.#insert(time - (time % 10) + 1 + (this.#serial % 9));
  }

  remove(at: number): string | undefined {
    return this.rows.splice(Math.floor(at * this.rows.length), 1)[0]?.key;
  }

  script(happenings: Happening[]): void {
    this.#script = [...happenings];
  }

  #insert(time: number): string {
    this.#serial += 1;
    const row = { key: `order-${this.#serial}`, time: time - (time % this.timeStep) };
    this.rows.push(row);
    return row.key;
  }

  #listing(): Row[] {
    const rows = [...this.rows];
    if (this.order === 'newest-first')
      return rows.sort((a, b) => b.time - a.time || (a.key < b.key ? 1 : -1));
    if (this.order === 'oldest-first')
      return rows.sort((a, b) => a.time - b.time || (a.key < b.key ? -1 : 1));
    const salt = this.order === 'shuffled' ? this.requests : 1;
    return rows.sort((a, b) => scramble(a.key, salt) - scramble(b.key, salt));
  }

  /** The list as the latest answer that was taken knows it. */
  known(): string[] {
    return this.#standing.get(this.#latestTaken) ?? [];
  }

  #happen(): void {
    const next = this.#script.shift();
    if (next?.kind === 'arrive') this.arrive(next.count);
    if (next?.kind === 'late') this.late(next.at);
    if (next?.kind === 'remove') this.remove(next.at);
    if (next?.kind === 'resize') this.size = next.size;
    if (next?.kind === 'lag') this.lag = next.rows;
    if (next?.kind === 'kill') throw new Killed();
  }

  #serve(page: number): ShownPage {
    this.#happen();
    this.#observation += 1;
    return this.answer(page, this.#observation);
  }

  /** The page as the list stands now, for the request of that number. */
  answer(page: number, observation: number): ShownPage {
    this.requests += 1;
    if (this.requests > 5_000) throw new Error('the list is read without end');
    const listing = this.#listing();
    this.#standing.set(
      observation,
      listing.map((row) => row.key),
    );
    const pages = Math.max(1, Math.ceil(listing.length / this.size));
    const served = page > pages && this.beyondEnd === 'last-page' ? pages : page;
    const rows = listing.slice((served - 1) * this.size, served * this.size);
    const times = rows.map((row) => row.time);
    return {
      page,
      size: this.size,
      total: Math.max(0, listing.length - this.lag),
      listed: rows.length,
      unstorable: 0,
      keys: rows.map((row) => row.key),
      times,
      datedKeys: rows.map((row) => row.key),
      firstTime: times[0] ?? null,
      lastTime: times.at(-1) ?? null,
      fingerprint: rows.map((row) => row.key).join(),
      isFresh: true,
      observation,
      answered: this.requests,
    };
  }

  #take<F extends PageFacts>(facts: F): F {
    this.#latestTaken = Math.max(this.#latestTaken, facts.observation);
    return facts;
  }

  #write(pages: ShownPage[], days: ReadDays | null, state: ListState): Stored {
    const before = this.ledger.size;
    if (this.#script[0]?.kind === 'kill') {
      this.#script.shift();
      throw new Killed();
    }
    for (const { keys, times } of pages) {
      for (const [index, key] of keys.entries()) {
        this.ledger.set(key, times[index] ?? 0);
        if (state.checkpoint.walk?.notesKeys) this.noted.add(key);
      }
    }
    const differingDays = days === null ? [] : this.#compareDays(days);
    return { ...this.#save(state), inserted: this.ledger.size - before, differingDays };
  }

  /** The state that the next pass finds, 15 s after the one before it. */
  beginPass(): ListState {
    this.time += 15_000;
    this.stored = { ...this.stored, passes: this.stored.passes + 1 };
    return this.stored;
  }

  #save(state: ListState): Stored {
    const { passes } = this.stored;
    this.stored = { ...state, ledgerCount: this.ledger.size, guests: 0, passes };
    return { inserted: 0, ledgerCount: this.ledger.size, guests: 0, differingDays: [] };
  }

  dayOf(time: number): number {
    return dayOf(time);
  }

  /** As the ledger does it: the rows that it lists of each day against those that were read. */
  #compareDays({ low, high, rows, head, isHeadNew }: ReadDays): number[] {
    const read = new Map(rows);
    const held = new Map<number, string[]>();
    const differing = new Set<number>();
    for (const [key, time] of this.ledger) {
      const day = this.dayOf(time);
      if (isHeadNew && head !== null && time > head) differing.add(day);
      const isIn = day >= (low ?? day) && day <= (high ?? day);
      if (isIn && (head === null || time <= head)) held.set(day, [...(held.get(day) ?? []), key]);
    }
    for (const day of new Set([...held.keys(), ...read.keys()])) {
      const keys = held.get(day) ?? [];
      if (keys.length === (read.get(day) ?? 0)) this.verified.set(day, keys);
      else differing.add(day);
    }
    return [...differing];
  }

  /**
   * Pages fetched ahead are answered in the order that `ahead` says (fractions in [0, 1)), as on a real network.
   */
  port(ahead: number[] = []): ListPort<ShownPage> {
    const answers = new Map<number, ShownPage>();
    const order = [...ahead];
    return {
      read: async (page, upTo, isFresh = false) => {
        if (isFresh) answers.clear();
        const known = answers.get(page);
        answers.delete(page);
        if (known) return { ...this.#take(known), isFresh: false };
        const wanted = Array.from(
          { length: Math.min(8, Math.max(0, upTo - page)) + 1 },
          (_, i) => page + i,
        );
        while (wanted.length > 0) {
          const pick = Math.floor((order.shift() ?? 0) * wanted.length);
          const [next] = wanted.splice(pick, 1);
          if (next !== undefined) answers.set(next, this.#serve(next));
        }
        const facts = answers.get(page);
        answers.delete(page);
        if (!facts) throw new Error('the model lost a page');
        return this.#take(facts);
      },
      prepare:
        ({ pages, days }, state) =>
        async () =>
          this.#write(pages, days, state),
      ranks: {
        countUntil: async (time) =>
          [...this.ledger.values()].filter((known) => known <= time).length,
        listedButNotSeen: async (pages, { after, before }) => {
          const seen = new Set(pages.flatMap(({ keys }) => keys));
          return [...this.ledger]
            .filter(
              ([key, time]) => time > (after ?? 0) && time < (before ?? Infinity) && !seen.has(key),
            )
            .map(([key]) => key);
        },
        undated: async () => [],
        days: async () => {
          const rows = new Map<number, number>();
          for (const time of this.ledger.values()) {
            const day = this.dayOf(time);
            rows.set(day, (rows.get(day) ?? 0) + 1);
          }
          return [...rows].map(([day, count]) => ({ day, rows: count, verifiedAt: null }));
        },
      },
      notes: {
        begin: async () => this.noted.clear(),
        count: async () => this.noted.size,
        unseen: async (limit) =>
          [...this.ledger.keys()].filter((key) => !this.noted.has(key)).slice(0, limit),
        dropUnseenGuests: async (state) => this.#save(state),
        verifyAll: async (state) => this.#save(state),
      },
      unlist: async (keys, state) => {
        for (const key of keys) {
          if (this.rows.some((row) => row.key === key)) this.wronglyUnlisted.push(key);
          this.ledger.delete(key);
        }
        return this.#save(state);
      },
      now: () => this.time,
      wait: async (ms) => {
        this.time += ms;
      },
      isBatchFull: (rows) => rows >= 40,
      shouldPause: () => false,
    };
  }
}

function scramble(key: string, salt: number): number {
  let hash = salt * 2_654_435_761;
  for (const character of key) hash = Math.imul(hash ^ character.charCodeAt(0), 2_246_822_519);
  return hash >>> 0;
}
