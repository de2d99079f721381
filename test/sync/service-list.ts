import type { ListOrder } from '../../src/kernel/vocabulary.ts';

/** `isUndated`: the list shows the row with an unreadable time; its place follows the real one. */
export type Row = { readonly key: string; readonly time: number; readonly isUndated: boolean };

/** The list from one change to the next. */
export class Version {
  readonly index: number;
  /** Unix ms of the change that made it. */
  readonly at: number;
  readonly rows: readonly Row[];
  /** Number of rows removed so far, over all changes. */
  readonly removals: number;
  #listing: readonly Row[] | undefined;
  #keys: ReadonlySet<string> | undefined;

  constructor(index: number, at: number, rows: readonly Row[], removals: number) {
    this.index = index;
    this.at = at;
    this.rows = rows;
    this.removals = removals;
  }

  get keys(): ReadonlySet<string> {
    this.#keys ??= new Set(this.rows.map((row) => row.key));
    return this.#keys;
  }

  listing(order: ListOrder): readonly Row[] {
    this.#listing ??= sorted(this.rows, order);
    return this.#listing;
  }

  /** For a list that changes its order. */
  forgetListing(): void {
    this.#listing = undefined;
  }
}

const startMs = 1_000_000_000_000;

/** The rows of one list over time, with every state that the list has had. */
export class ServiceList {
  /** Times are rounded down to multiples of it, so that several rows share one. */
  timeStep = 1;
  /** Time between two arrivals: with hours, a list of a hundred rows spans days. */
  stepMs = 7_200_000;
  /** Each n-th arrival has an unreadable time; 0: none. */
  undatedEach = 0;
  readonly versions: Version[] = [new Version(0, 0, [], 0)];
  #order: ListOrder | 'shuffled';
  #clock = startMs;
  #arrivals = 0;
  #removed: Row[] = [];
  readonly #now: () => number;
  readonly #nextSerial: () => number;

  constructor(order: ListOrder | 'shuffled', now: () => number, nextSerial: () => number) {
    this.#order = order;
    this.#now = now;
    this.#nextSerial = nextSerial;
  }

  get order(): ListOrder | 'shuffled' {
    return this.#order;
  }

  set order(order: ListOrder | 'shuffled') {
    this.#order = order;
    for (const version of this.versions) version.forgetListing();
  }

  get current(): Version {
    return this.versions.at(-1) as Version;
  }

  /** State of the list at the time (Unix ms). */
  asOf(time: number): Version {
    for (let index = this.versions.length - 1; index > 0; index -= 1) {
      const version = this.versions[index];
      if (version && version.at <= time) return version;
    }
    return this.versions[0] as Version;
  }

  /** `salt` identifies the request if the order changes with each request. */
  listing(version: Version, salt: number): readonly Row[] {
    if (this.#order !== 'shuffled') return version.listing(this.#order);
    return byScramble(version.rows, salt);
  }

  arrive(count: number): string[] {
    const rows = Array.from({ length: count }, () => {
      this.#clock += this.stepMs;
      return this.#newRow(this.#clock);
    });
    this.#insert(rows);
    return rows.map((row) => row.key);
  }

  /** A row that appears in the past; `at` in [0, 1] of the history. Times stay distinct. */
  late(at: number): string {
    const time = startMs + Math.floor(at * (this.#clock - startMs));
    const row = this.#newRow(time - (time % 10) + 1 + (this.#arrivals % 9));
    this.#insert([row]);
    return row.key;
  }

  /** Removes the row at this place (in [0, 1) of the rows, in the order in which they arrived). */
  remove(at: number): Row | undefined {
    const { rows } = this.current;
    const row = rows[Math.floor(at * rows.length)];
    if (!row) return undefined;
    this.#removed.push(row);
    this.#change(
      rows.filter((other) => other !== row),
      1,
    );
    return row;
  }

  removeKey(key: string): void {
    const { rows } = this.current;
    const left = rows.filter((row) => row.key !== key);
    if (left.length < rows.length) this.#change(left, rows.length - left.length);
  }

  /** Restores the row that was removed last. */
  bringBack(): void {
    const row = this.#removed.pop();
    if (row && !this.has(row.key)) this.#insert([row]);
  }

  /** Also shows a row of another list. */
  show(row: Row): void {
    if (!this.has(row.key)) this.#insert([row]);
  }

  pick(at: number): Row | undefined {
    const { rows } = this.current;
    return rows[Math.floor(at * rows.length)];
  }

  has(key: string): boolean {
    return this.current.keys.has(key);
  }

  #newRow(time: number): Row {
    this.#arrivals += 1;
    const isUndated = this.undatedEach > 0 && this.#arrivals % this.undatedEach === 0;
    return { key: `order-${this.#nextSerial()}`, time: time - (time % this.timeStep), isUndated };
  }

  #insert(rows: readonly Row[]): void {
    if (rows.length > 0) this.#change([...this.current.rows, ...rows], 0);
  }

  #change(rows: readonly Row[], removed: number): void {
    const { index, removals } = this.current;
    this.versions.push(new Version(index + 1, this.#now(), rows, removals + removed));
  }
}

function sorted(rows: readonly Row[], order: ListOrder): readonly Row[] {
  if (order === 'newest-first')
    return rows.toSorted((a, b) => b.time - a.time || (a.key < b.key ? 1 : -1));
  if (order === 'oldest-first')
    return rows.toSorted((a, b) => a.time - b.time || (a.key < b.key ? -1 : 1));
  return byScramble(rows, 1);
}

function byScramble(rows: readonly Row[], salt: number): readonly Row[] {
  return rows
    .map((row) => ({ row, rank: scramble(row.key, salt) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ row }) => row);
}

function scramble(key: string, salt: number): number {
  let hash = salt * 2_654_435_761;
  for (const character of key) hash = Math.imul(hash ^ character.charCodeAt(0), 2_246_822_519);
  return hash >>> 0;
}
