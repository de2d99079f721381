import type { ReadDays } from '../../src/kernel/vocabulary.ts';
import { dayOf } from '../../src/sync/list/read-days.ts';

/** Times of the rows that one list counts, and of rows of other lists that it shows as well (Unix ms). */
type Holding = { listed: Map<string, number | null>; guests: Map<string, number | null> };

/**
 * The ledger of several lists. A row stays with the list that showed it first and is a guest of the other one. When
 * its own list no longer shows it, it moves to the other list.
 */
export class LedgerModel {
  readonly #holdings: Holding[] = [];
  /** List of each key. */
  readonly #owners = new Map<string, number>();

  addList(): number {
    return this.#holdings.push({ listed: new Map(), guests: new Map() }) - 1;
  }

  listed(list: number): Map<string, number | null> {
    return this.#holding(list).listed;
  }

  guests(list: number): Map<string, number | null> {
    return this.#holding(list).guests;
  }

  /** Counts the rows of the list that other lists show as well. */
  shownElsewhere(list: number): number {
    const guests = this.#holdings.flatMap((holding) => [...holding.guests.keys()]);
    return guests.filter((key) => this.#owners.get(key) === list).length;
  }

  /** True if a list counts the row. */
  has(key: string): boolean {
    return this.#owners.has(key);
  }

  store(list: number, key: string, time: number | null): void {
    const owner = this.#owners.get(key);
    if (owner === undefined) this.#owners.set(key, list);
    const { listed, guests } = this.#holding(list);
    (owner === undefined || owner === list ? listed : guests).set(key, time);
  }

  unlist(list: number, keys: string[]): void {
    const { listed } = this.#holding(list);
    for (const key of keys) {
      if (!listed.delete(key)) continue;
      this.#owners.delete(key);
      const host = this.#holdings.find(({ guests }) => guests.has(key));
      if (!host) continue;
      host.listed.set(key, host.guests.get(key) ?? null);
      host.guests.delete(key);
      this.#owners.set(key, this.#holdings.indexOf(host));
    }
  }

  /** Ends the conflict of guests that the list does not show any more. */
  dropGuests(list: number, isShown: (key: string) => boolean): void {
    const { guests } = this.#holding(list);
    for (const key of [...guests.keys()]) if (!isShown(key)) guests.delete(key);
  }

  /** The rows of the days that were read, as the ledger has them: equal days and different days. */
  compareDays(
    list: number,
    { low, high, rows, head, isHeadNew }: ReadDays,
  ): { verified: Map<number, string[]>; differing: number[] | null } {
    if (this.guests(list).size > 0) return { verified: new Map(), differing: null };
    const read = new Map(rows);
    const held = new Map<number, string[]>();
    const differing = new Set<number>();
    for (const [key, time] of this.#holding(list).listed) {
      if (time === null) continue;
      const day = dayOf(time);
      if (isHeadNew && head !== null && time > head) differing.add(day);
      const isIn = day >= (low ?? day) && day <= (high ?? day);
      if (isIn && (head === null || time <= head)) held.set(day, [...(held.get(day) ?? []), key]);
    }
    const verified = new Map<number, string[]>();
    for (const day of new Set([...held.keys(), ...read.keys()])) {
      const keys = held.get(day) ?? [];
      if (keys.length === (read.get(day) ?? 0)) verified.set(day, keys);
      else differing.add(day);
    }
    return { verified, differing: [...differing] };
  }

  #holding(list: number): Holding {
    const holding = this.#holdings[list];
    if (!holding) throw new Error(`the ledger has no list ${list}`);
    return holding;
  }
}
