import { type ListState, withCheckpoint } from './list-state.ts';

/** Upper bound of the scans of one pass. A list in random order shows about 63 % of the missing rows per scan. */
const scansMax = 14;
const scansWithoutNewRowsMax = 3;

/**
 * Counts the full scans that one pass runs for its doubts. A pass in slices keeps one counter for all of them, so that
 * it ends after as many scans as a pass without slices.
 */
export type PassScans = {
  mayBegin(): boolean;
  /** Scans begun so far. */
  begun(): number;
  /**
   * The last scan was clean: it has shown which rows two lists share, so reading again in this pass explains nothing
   * more.
   */
  wasClean(): boolean;
  begin(before: ListState): void;
  /** Judges the scan that has ended and returns the next state; changes nothing after a scan of an earlier pass. */
  afterScan(state: ListState): ListState;
};

export function createPassScans(): PassScans {
  let begun = 0;
  let withoutNewRows = 0;
  let fruitlessBefore = 0;
  /** State before the scan that is not judged yet. */
  let unjudged: ListState | null = null;
  let wasClean = false;
  return {
    mayBegin: () => begun < scansMax && withoutNewRows < scansWithoutNewRowsMax,
    begun: () => begun,
    wasClean: () => wasClean,
    begin(before) {
      if (begun === 0) fruitlessBefore = before.checkpoint.fruitlessScans;
      begun += 1;
      unjudged = before;
    },
    afterScan(state) {
      wasClean = !state.checkpoint.isScanUnclean;
      if (unjudged === null) return state;
      const hasProgressed =
        state.ledgerCount > unjudged.ledgerCount ||
        state.checkpoint.unseen.length < unjudged.checkpoint.unseen.length;
      withoutNewRows = hasProgressed ? 0 : withoutNewRows + 1;
      // The next scan would end in the same way: the service refuses the page after the last one.
      if (state.checkpoint.isEndUnproven && !hasProgressed) withoutNewRows = scansWithoutNewRowsMax;
      unjudged = null;
      // The scans of one pass count as one, because the backoff concerns later passes.
      return withFruitlessAtMost(state, fruitlessBefore + 1);
    },
  };
}

function withFruitlessAtMost(state: ListState, most: number): ListState {
  const { fruitlessScans } = state.checkpoint;
  return fruitlessScans <= most ? state : withCheckpoint(state, { fruitlessScans: most });
}
