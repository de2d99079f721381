/** What a page of a full scan means for the scan, and what the scan's progress is after it. Pure. */
import type { WalkProgress } from './list-checkpoint.ts';
import { type PageFacts, timeSteps } from './list-state.ts';

/** A list that loses rows, or changes its page size, all the time must not hold a scan for ever. */
const rewindsMin = 10;
const rewindShare = 0.5;
/** More rows without a readable time are not compared one by one. */
export const undatedMax = 500;

export type ScanStep =
  | { kind: 'next' }
  /** `isRepeated`: shown by the page before it, served again behind the end. */
  | { kind: 'end'; isRepeated: boolean }
  | { kind: 'rewind'; toPage: number }
  | { kind: 'realign'; toPage: number }
  | { kind: 'repeat' };

/** The page read before, and how many in a row have shown the same rows. */
export type PageBefore = { previousFingerprint: string | null; repeats: number };

/** What a page means for the scan. `last` is the page on which the list ends by its total. */
export function decideScanStep(
  walk: WalkProgress,
  facts: PageFacts,
  last: number,
  { previousFingerprint, repeats }: PageBefore,
): ScanStep {
  const back = mayGoBack(walk, facts) ? stepBack(walk, facts) : undefined;
  if (facts.listed === 0) return back ?? { kind: 'end', isRepeated: false };
  if (isRepeat(walk, facts, previousFingerprint)) {
    // Once may be a page's worth of new rows that the total does not show.
    const isEnd = facts.page > last && repeats > 0;
    return isEnd ? { kind: 'end', isRepeated: true } : { kind: 'repeat' };
  }
  return back ?? (isEndAtTotal(facts) ? { kind: 'end', isRepeated: false } : { kind: 'next' });
}

/** A short page ends the list only where the total says so, too: one in the middle may just lack rows. */
function isEndAtTotal(facts: PageFacts): boolean {
  const readRows = (facts.page - 1) * facts.size + facts.listed;
  return !isFull(facts) && readRows === facts.total;
}

function isFull(facts: PageFacts): boolean {
  return facts.listed >= facts.size;
}

/** As many new rows as a page holds show a page twice, too; but then the total has risen by as many. */
function isRepeat(
  walk: WalkProgress,
  facts: PageFacts,
  previousFingerprint: string | null,
): boolean {
  const risen = (facts.total ?? 0) - (walk.lastTotal ?? 0);
  return facts.fingerprint === previousFingerprint && risen < facts.listed;
}

function mayGoBack(walk: WalkProgress, facts: PageFacts): boolean {
  return walk.rewinds < Math.max(rewindsMin, facts.page * rewindShare);
}

/** Back to the place up to which the scan has met every row: where rows have gone, or the page size has changed. */
function stepBack(walk: WalkProgress, facts: PageFacts): ScanStep | undefined {
  const removed = removedRows(walk, facts);
  const readRows = (facts.page - 1) * sizeSoFar(walk, facts);
  const toPage = Math.floor(Math.max(0, readRows - removed) / facts.size) + 1;
  if (removed > 0) return { kind: 'rewind', toPage };
  return toPage === facts.page ? undefined : { kind: 'realign', toPage };
}

/** A total of 0 is what some services say of a page behind the end: no word on rows that have gone. */
function removedRows(walk: WalkProgress, facts: PageFacts): number {
  if (walk.lastTotal === null || facts.total === null) return 0;
  if (facts.listed === 0 && facts.total === 0) return 0;
  return Math.max(0, walk.lastTotal - facts.total);
}

/** Rows per page up to this one. A last page that is not full need not show the size of the others. */
function sizeSoFar(walk: WalkProgress, facts: PageFacts): number {
  const { pageSize } = walk;
  return pageSize !== null && (facts.size > pageSize || isFull(facts)) ? pageSize : facts.size;
}

/** The progress after a page and the step that it led to. */
export function afterStep(walk: WalkProgress, facts: PageFacts, step: ScanStep): WalkProgress {
  const steps = timeSteps(facts.times);
  const isBack = 'toPage' in step;
  const isRepeated = isShownAgain(step);
  // Where the limit of rewinds was reached, rows may have slipped past the seam.
  const isSeamOpen = !isBack && stepBack(walk, facts) !== undefined;
  const isShort = !walk.isLastFull && !isRepeated && facts.listed > 0;
  return {
    ...walk,
    rising: walk.rising + steps.rising,
    falling: walk.falling + steps.falling,
    met: walk.met + (isRepeated ? 0 : facts.keys.length),
    unstorable: walk.unstorable + facts.unstorable,
    startTotal: walk.startTotal ?? facts.total,
    lastTotal: facts.total ?? walk.lastTotal,
    pageSize: facts.listed > 0 || isBack ? facts.size : walk.pageSize,
    rewinds: walk.rewinds + Number(isBack),
    nextPage: isBack ? step.toPage : facts.page + 1,
    isLastFull: isBack || isFull(facts),
    hasShortPages: walk.hasShortPages || isShort,
    isClean: walk.isClean && !isSeamOpen,
    undated: withUndated(walk.undated, facts),
  };
}

function isShownAgain(step: ScanStep): boolean {
  return step.kind === 'repeat' || (step.kind === 'end' && step.isRepeated);
}

function withUndated(known: string[], { keys, datedKeys }: PageFacts): string[] {
  if (keys.length === datedKeys.length) return known;
  const dated = new Set(datedKeys);
  const undated = keys.filter((key) => !dated.has(key) && !known.includes(key));
  return [...known, ...undated].slice(0, undatedMax + 1);
}
