import type { Clock } from '../../kernel/clock.ts';
import { isOnTheWay, orderNoOf, stateAt } from './movement.ts';
import type { RowStore } from './row-store.ts';

export type ChangeWatch = {
  /** Sets the state of a row from outside. */
  forceState(ordinal: number, state: string): void;
  /** Returns the order numbers of rows that are new, or in another state, since the last call. */
  take(): string[];
};

/** A movement takes at most 1.5 times as long to its final state as `settleMs`. */
const lifeMax = 1.5;

/**
 * Watches the rows, from the first `take` on, which returns none. A later one costs the rows on the way to their final
 * state, not the history. `grow` creates the rows that are due.
 */
export function watchChanges(
  store: Pick<RowStore, 'length' | 'read' | 'timeOf' | 'forceState'>,
  options: { clock: Clock; seed: number; settleMs: number; grow(): unknown },
): ChangeWatch {
  const { clock, seed, settleMs, grow } = options;
  const touched = new Set<number>();
  /** States of the rows on the way. */
  const open = new Map<number, string>();
  let known: number | null = null;

  function note(ordinal: number): string | null {
    const row = store.read(ordinal);
    if (row.kind === 'raw') return row.orderNo;
    const state = stateAt(row, clock());
    if (isOnTheWay(state)) open.set(ordinal, state);
    else open.delete(ordinal);
    return orderNoOf(seed, ordinal);
  }

  /** Notes the rows on the way, and returns the number of all. */
  function begin(): number {
    const oldest = clock() - lifeMax * settleMs;
    for (let ordinal = 0; ordinal < store.length; ordinal += 1)
      if (store.timeOf(ordinal) >= oldest) note(ordinal);
    touched.clear();
    return store.length;
  }

  return {
    forceState(ordinal, state) {
      store.forceState(ordinal, state);
      touched.add(ordinal);
    },
    take() {
      grow();
      known ??= begin();
      const changed = new Set(touched);
      touched.clear();
      for (const [ordinal, state] of open) {
        const row = store.read(ordinal);
        if (row.kind === 'movement' && stateAt(row, clock()) !== state) changed.add(ordinal);
      }
      for (; known < store.length; known += 1) changed.add(known);
      return [...changed].map(note).filter((orderNo) => orderNo !== null);
    },
  };
}
