import type { ListOrder } from '../../src/kernel/list-order.ts';
import { newCheckpoint } from '../../src/sync/list-checkpoint.ts';
import type { ListPort } from '../../src/sync/list-port.ts';
import type { ListState, PageFacts } from '../../src/sync/list-state.ts';

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

/** A page with the keys of its rows. */
export type ShownPage = PageFacts & { keys: string[] };

export class Killed extends Error {}

/** A list that moves while it is read, and the ledger beside it; time passes with each request. */
export class ListModel {
  rows: Row[] = [];
  /** Listed rows in the ledger, with their times. */
  ledger = new Map<string, number>();
  /** Rows that were marked as gone although the service lists them. */
  wronglyUnlisted: string[] = [];
  stored: ListState;
  requests = 0;
  order: ListOrder | 'shuffled';
  size: number;
  lag = 0;
  beyondEnd: 'empty' | 'last-page' = 'empty';
  /** Times are cut to multiples of it, so that several rows share one. */
  timeStep = 1;
  #clock = 1_000_000;
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
      isBacked: false,
      acceptedDifference: 0,
      checkpoint: newCheckpoint(size),
    };
  }

  arrive(count: number): string[] {
    return Array.from({ length: count }, () => {
      this.#clock += 10;
      return this.#insert(this.#clock);
    });
  }

  /** A row that turns up in the past; `at` in [0, 1] of the history. Times stay distinct. */
  late(at: number): string {
    const time = 1_000_000 + Math.floor(at * (this.#clock - 1_000_000));
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
      times,
      firstTime: times[0] ?? null,
      lastTime: times.at(-1) ?? null,
      fingerprint: rows.map((row) => row.key).join(),
      isFresh: true,
      observation,
      keys: rows.map((row) => row.key),
    };
  }

  #take<F extends PageFacts>(facts: F): F {
    this.#latestTaken = Math.max(this.#latestTaken, facts.observation);
    return facts;
  }

  #write(pages: ShownPage[], state: ListState): { inserted: number; ledgerCount: number } {
    const before = this.ledger.size;
    if (this.#script[0]?.kind === 'kill') {
      this.#script.shift();
      throw new Killed();
    }
    for (const { keys, times } of pages) {
      for (const [index, key] of keys.entries()) this.ledger.set(key, times[index] ?? 0);
    }
    this.stored = { ...state, ledgerCount: this.ledger.size };
    return { inserted: this.ledger.size - before, ledgerCount: this.ledger.size };
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
      prepare: (pages, state) => async () => this.#write(pages, state),
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
        unlist: async (keys, state) => {
          for (const key of keys) {
            if (this.rows.some((row) => row.key === key)) this.wronglyUnlisted.push(key);
            this.ledger.delete(key);
          }
          this.stored = { ...state, ledgerCount: this.ledger.size };
          return this.ledger.size;
        },
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
