import type { Stream } from './transaction-row.ts';

/** History of the rows that each list showed. */
export type ListHistory = {
  /** From now on the list shows the order, or no longer shows it. */
  note(stream: Stream, orderNo: string, isShown: boolean): void;
  /**
   * Returns null if the list showed exactly these orders at some moment since then (Unix ms). Otherwise returns the
   * last moment at which the difference was smallest, and that difference.
   */
  missShown(stream: Stream, orderNos: ReadonlySet<string>, since: number): Miss | null;
};

/** Orders that the list showed and the caller lacks, and the reverse. */
type Miss = { at: number; missing: string[]; extra: string[] };

type Step = { at: number; orderNo: string; isShown: boolean };

export function createListHistory(now: () => number = Date.now): ListHistory {
  const steps: Record<Stream, Step[]> = { deposit: [], withdraw: [] };
  const shown = { deposit: new Set<string>(), withdraw: new Set<string>() };
  return {
    note(stream, orderNo, isShown) {
      if (shown[stream].has(orderNo) === isShown) return;
      if (isShown) shown[stream].add(orderNo);
      else shown[stream].delete(orderNo);
      steps[stream].push({ at: now(), orderNo, isShown });
    },
    missShown(stream, orderNos, since) {
      const missing = new Set<string>();
      const extra = new Set(orderNos);
      let nearest: Miss | null = null;
      for (const [index, { at, orderNo, isShown }] of steps[stream].entries()) {
        const isHeld = orderNos.has(orderNo);
        const side = isHeld ? extra : missing;
        if (isShown === isHeld) side.delete(orderNo);
        else side.add(orderNo);
        const until = steps[stream][index + 1]?.at ?? Number.POSITIVE_INFINITY;
        if (until < since) continue;
        const differing = missing.size + extra.size;
        if (differing === 0) return null;
        if (!nearest || differing <= nearest.missing.length + nearest.extra.length) {
          nearest = { at, missing: [...missing], extra: [...extra] };
        }
      }
      return nearest;
    },
  };
}
