import { isOrdered, isProven } from '../../src/sync/list/list-state.ts';
import type { Answer, ListModel } from './list-model.ts';
import type { Version } from './service-list.ts';

/** Numbers of the histories that were played, and of the checks in them. */
export type Figures = {
  histories: number;
  passes: number;
  requests: number;
  /** Clean scans, after each of which every row listed throughout was searched for. */
  scans: number;
  /** Claims of completeness that were compared with the sets that the service listed. */
  claims: number;
  /** Wrong claims that no reader of these answers could have recognised as wrong. */
  excused: number;
  unlisted: number;
  /** First pages that another process stored during a pass. */
  looks: number;
};

export function newFigures(): Figures {
  return {
    histories: 0,
    passes: 0,
    requests: 0,
    scans: 0,
    claims: 0,
    excused: 0,
    unlisted: 0,
    looks: 0,
  };
}

/** Compares the ledger's claims about one list with the answers of the service. */
export class ProofJudge {
  readonly model: ListModel;
  readonly violations: string[];
  readonly figures: Figures;
  /** Answers before this one cannot have misled the ledger: a clean scan began after them. */
  #cleanFrom = 0;
  #scanFrom: number | null = null;
  #rememberedAtRest = 0;
  #walks = 0;
  /** The earliest state of the list that was shown in the pass in which the proof last changed. */
  #provenFrom = 0;
  #passFrom = 0;
  #facts = '';
  /** The last claim was wrong, and no reader could have recognised it. */
  isExcused = false;

  constructor(model: ListModel, violations: string[], figures: Figures) {
    this.model = model;
    this.violations = violations;
    this.figures = figures;
  }

  beginPass(): void {
    this.#passFrom = this.model.taken.length;
  }

  endPass(): void {
    this.model.remembered = this.model.taken.length;
    this.#rememberedAtRest = this.model.remembered;
  }

  /** After a write of this list. */
  noteWrite(): void {
    const { model } = this;
    const state = model.current();
    const facts = [...model.ledger.keys(), state.serviceTotal, isProven(state)].join();
    if (facts !== this.#facts) this.#provenFrom = this.#firstShown();
    this.#facts = facts;
    const { walk, walks, isScanUnclean, unseen } = state.checkpoint;
    if (walk !== null) this.#scanFrom ??= this.#rememberedAtRest;
    const hasScanned = walks > this.#walks;
    this.#walks = walks;
    const isClean = state.isBacked && !isScanUnclean && unseen.length === 0;
    if (hasScanned && isClean) this.#noteCleanScan(this.#scanFrom ?? this.#rememberedAtRest);
    // Two consistent scans count as one, because equal totals do not show rows that vanished between them.
    if (walk !== null || state.checkpoint.isShuffled) return;
    this.#scanFrom = null;
    this.#rememberedAtRest = model.remembered;
  }

  #noteCleanScan(from: number): void {
    this.#cleanFrom = from;
    this.figures.scans += 1;
    if (this.isMisled() || this.#isBetweenReplicas()) return;
    const answers = this.model.taken.slice(from, this.model.remembered);
    const [first] = answers;
    if (!first || answers.some((after, index) => isShownAgain(answers[index - 1], after))) return;
    // A short page that ends exactly where the total says is the end of the list for every reader.
    const hidden = new Set(answers.flatMap((answer) => [...answer.hidden, ...answer.cutOff]));
    const glimpses = this.model.glimpses.filter(({ taken }) => taken >= from);
    const others = new Set(
      [...answers, ...glimpses.map(({ answer }) => answer)].map(({ shown }) => shown),
    );
    for (const key of first.shown.keys) {
      const isThroughout = [...others].every(({ keys }) => keys.has(key));
      if (isThroughout && !hidden.has(key) && !this.model.world.ledger.has(key))
        this.#violate(`${key} was listed throughout a clean scan and is missing`);
    }
  }

  /** After a write of any list: the present claim of the ledger must have been true at some moment. */
  checkClaim(): void {
    const { model, figures } = this;
    const state = model.current();
    this.isExcused = false;
    if (!isProven(state)) return;
    figures.claims += 1;
    const { versions } = model.list;
    for (let index = versions.length - 1; index >= this.#provenFrom; index -= 1)
      if (isSame(versions[index], model.ledger)) return;
    if (!this.isTotalTrue() || this.isMisled()) {
      figures.excused += 1;
      this.isExcused = true;
      return;
    }
    const { shown } = model.taken.at(-1) ?? {};
    // The latest answer came from a replica that lags: the service has listed this set in it.
    if (isSame(shown, model.ledger)) return;
    const missing = [...(shown?.keys ?? [])].filter((key) => !model.ledger.has(key));
    const extra = [...model.ledger.keys()].filter((key) => !shown?.keys.has(key));
    this.#violate(`proven, but ${missing.join()} missing and ${extra.join()} too many`);
  }

  /** Rows are about to be marked as gone. */
  checkUnlisted(keys: string[]): void {
    this.figures.unlisted += keys.length;
    const { taken, glimpses } = this.model;
    const glimpsesAfter = (index: number) => glimpses.filter((each) => each.taken === index + 1);
    for (const key of keys) {
      if (!this.model.list.has(key)) continue;
      let absent = 0;
      for (let index = taken.length - 1; index >= 0; index -= 1) {
        const answer = taken[index];
        if (!answer) break;
        const isDue = answer.due.includes(key);
        if (isDue && !answer.hidden.includes(key)) break;
        const isCutOff = answer.cutOff.includes(key);
        const isPassed =
          hasSlipped(key, taken[index - 1], answer) ||
          glimpsesAfter(index).some((next) => hasSlipped(key, answer, next.answer));
        if (isDue || isCutOff || isPassed || !answer.shown.keys.has(key)) absent += 1;
      }
      if (absent < 2 && !this.#isOutOfPlace(key))
        this.#violate(`${key} is listed and was marked as gone`);
    }
  }

  /**
   * The pages so far have seemed to be in the order of time, and the row's place contradicts its time. Nobody searches
   * it where it is.
   */
  #isOutOfPlace(key: string): boolean {
    const { list, stored } = this.model;
    if (stored.isOrderFixed || !isOrdered(stored)) return false;
    const rows = list.listing(list.current, 0);
    const place = rows.findIndex((row) => row.key === key);
    const time = rows[place]?.time ?? 0;
    const sign = stored.listOrder === 'newest-first' ? 1 : -1;
    return rows.some((other, index) => sign * (other.time - time) * (index - place) > 0);
  }

  /** The total that the ledger trusts was the number of rows that the list showed. */
  isTotalTrue(): boolean {
    const { taken, remembered, stored } = this.model;
    for (let index = remembered - 1; index >= 0; index -= 1) {
      const answer = taken[index];
      if (answer?.total === stored.serviceTotal) return answer.total === answer.shown.rows.length;
    }
    return false;
  }

  /** Rows vanished, and the totals of the answers before and after do not show exactly that. */
  isMisled(): boolean {
    const { taken, remembered } = this.model;
    const answers = taken.slice(Math.max(0, this.#cleanFrom - 1), remembered);
    return isMisleadingCourse(answers) || isMisleadingCourse(inOrderOfRequests(answers));
  }

  /** Alternating pages of two replicas miss a row; only correct totals show it. */
  #isBetweenReplicas(): boolean {
    const { replica, total } = this.model.lies;
    return replica !== null && total.kind !== 'honest';
  }

  /**
   * Returns the earliest state that was shown in this pass. If none of its answers had a total, it starts from the last
   * answer that did.
   */
  #firstShown(): number {
    const { taken, list } = this.model;
    let first = list.current.index;
    const telling = taken.findLastIndex(({ total }) => total !== null);
    const from = telling < 0 ? this.#passFrom : Math.min(this.#passFrom, telling);
    for (let index = from; index < taken.length; index += 1)
      first = Math.min(first, taken[index]?.shown.index ?? first);
    return first;
  }

  #violate(what: string): void {
    if (this.violations.length < 5) this.violations.push(`list ${this.model.index}: ${what}`);
  }
}

function isMisleadingCourse(answers: Answer[]): boolean {
  return answers.some((after, index) => {
    const before = answers[index - 1];
    return before !== undefined && isMisleading(before, after);
  });
}

/** Puts the looks of other processes, which are stored before what a pass has read meanwhile, where they were requested. */
function inOrderOfRequests(answers: Answer[]): Answer[] {
  const ordered = answers.filter(({ isLook }) => !isLook);
  for (const look of answers.filter(({ isLook }) => isLook)) {
    const before = ordered.findLastIndex(({ observation }) => observation < look.observation);
    ordered.splice(before + 1, 0, look);
  }
  return ordered;
}

function isMisleading(before: Answer, after: Answer): boolean {
  if (before.shown === after.shown) return false;
  const isForward = before.shown.index < after.shown.index;
  if (isForward && before.shown.removals === after.shown.removals) return false;
  const gone = countMissing(before.shown, after.shown.keys);
  if (gone === 0) return false;
  const come = countMissing(after.shown, before.shown.keys);
  if (before.total === null || after.total === null || come > 0) return true;
  return after.total - before.total !== -gone;
}

/**
 * The row is behind the page of one answer and before the page of the next, in the states of the list that they show,
 * and the totals do not show that these states differ. Either two replicas have equal counts and different rows, or
 * rows arrived and vanished in between.
 */
function hasSlipped(key: string, before: Answer | undefined, after: Answer): boolean {
  if (!before || !isMisleading(before, after)) return false;
  const placeBefore = before.listing.findIndex((row) => row.key === key);
  const placeAfter = after.listing.findIndex((row) => row.key === key);
  const isBehind = placeBefore >= before.rowsBefore + before.due.length;
  return isBehind && placeAfter >= 0 && placeAfter < after.rowsBefore;
}

/**
 * A full page of rows arrived before it, and the total counts none of them: a page that is shown again is the end of
 * the list for every reader.
 */
function isShownAgain(before: Answer | undefined, after: Answer): boolean {
  if (before?.total !== after.total || before.due.join() !== after.due.join()) return false;
  return countMissing(after.shown, before.shown.keys) > 0;
}

function countMissing({ rows }: Version, keys: ReadonlySet<string>): number {
  return rows.reduce((count, row) => count + Number(!keys.has(row.key)), 0);
}

function isSame(version: Version | undefined, ledger: ReadonlyMap<string, unknown>): boolean {
  if (version?.rows.length !== ledger.size) return false;
  return version.rows.every((row) => ledger.has(row.key));
}
