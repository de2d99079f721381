/** One call that changed the truth. */
export type Moment = {
  id: number;
  at: number;
  /** Highest nonce that had been answered by then. */
  nonceBefore: number;
  /**
   * An earlier request was answered after it and a later one before it: the answer to the later one is older, so the
   * ledger may have gone back.
   */
  isSpanned: boolean;
};

export type Moments = {
  readonly all: readonly Moment[];
  begin(): Moment;
  /** A request with this nonce sees the current truth. */
  noteAnswer(nonce: number): void;
};

export function createMoments(): Moments {
  const all: Moment[] = [];
  let highest = 0;
  return {
    all,
    begin() {
      const moment = { id: all.length, at: Date.now(), nonceBefore: highest, isSpanned: false };
      all.push(moment);
      return moment;
    },
    noteAnswer(nonce) {
      if (nonce >= highest) {
        highest = nonce;
        return;
      }
      for (let index = all.length - 1; index >= 0; index -= 1) {
        const moment = all[index];
        if (!moment || moment.nonceBefore <= nonce) break;
        moment.isSpanned = true;
      }
    },
  };
}
