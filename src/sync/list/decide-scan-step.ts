/** What a page of a full scan means for the scan, and what the scan's progress is after it. Pure. */
import type { WalkProgress } from './list-checkpoint.ts';
import { isTotalTold, type PageFacts, timeSteps } from './list-state.ts';

/** A list that loses rows, or changes its page size, all the time must not hold a scan for ever. */
const rewindsMin = 10;
const rewindShare = 0.5;
/** So many pages more than twice the list have no end. */
const endlessMin = 10;
/** More rows without a readable time are not compared one by one. */
export const undatedMax = 500;

export type ScanStep =
  | { kind: 'next' }
  /** `isRepeated`: shown by the page before it, served again behind the end. */
  | { kind: 'end'; isRepeated: boolean }
  | { kind: 'rewind'; toPage: number }
  | { kind: 'realign'; toPage: number }
  | { kind: 'repeat' };

/**
 * The page read before and the time of its last row, how many in a row have shown the same rows, the keys of the last
 * few pages, and by how many rows the total has fallen since, as any request has seen it: the page's own total need
 * not show it.
 */
export type PageBefore = {
  previousFingerprint: string | null;
  previousTime: number | null;
  repeats: number;
  recentKeys: readonly (readonly string[])[];
  fall: number;
};

/** What a page means for the scan. `last` is the page on which the list ends by its total. */
export function decideScanStep(
  walk: WalkProgress,
  facts: PageFacts,
  last: number,
  before: PageBefore,
): ScanStep {
  const { previousFingerprint, repeats } = before;
  const back = mayGoBack(walk, facts) ? stepBack(walk, facts, before) : undefined;
  if (facts.listed === 0) return back ?? afterEmptyPage(facts, last, previousFingerprint);
  if (isRepeat(walk, facts, previousFingerprint)) {
    // Once may be a page's worth of new rows that the total does not show.
    const isEnd = facts.page > last && repeats > 0;
    return isEnd ? { kind: 'end', isRepeated: true } : { kind: 'repeat' };
  }
  return back ?? (isEndAtTotal(facts) ? { kind: 'end', isRepeated: false } : { kind: 'next' });
}

/** One empty page below the total may just lack its rows; two in a row are the list's end. */
function afterEmptyPage(
  { page, fingerprint }: PageFacts,
  last: number,
  previousFingerprint: string | null,
): ScanStep {
  const mayGoOn = page < last && fingerprint !== previousFingerprint;
  return mayGoOn ? { kind: 'next' } : { kind: 'end', isRepeated: false };
}

/**
 * Far behind the total's end, more than half of the rows that were read had been read before: the list shows its last
 * page again and again, each time in another order. `different`: so many rows it has by the ledger, at most. Rows are
 * counted, not pages: an answer may claim a larger size than it serves.
 */
export function isEndless(
  { met }: WalkProgress,
  { page, size }: PageFacts,
  { last, different }: { last: number; different: number },
): boolean {
  return page > 2 * last + endlessMin && met > 2 * different + endlessMin * size;
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

/**
 * Back to the place up to which the scan has met every row: where rows have gone, or the page size has changed. Where
 * rows have gone, the last row met comes along, as a sign that the total tells all that has happened.
 */
function stepBack(
  walk: WalkProgress,
  facts: PageFacts,
  { recentKeys, fall }: Pick<PageBefore, 'recentKeys' | 'fall'>,
): ScanStep | undefined {
  const removed = Math.max(fall, removedRows(walk, facts));
  const readRows = (facts.page - 1) * sizeSoFar(walk, facts);
  if (removed > 0) return { kind: 'rewind', toPage: pageAt(readRows - removed - 1, facts) };
  if (isTorn(walk, facts, recentKeys)) return { kind: 'rewind', toPage: facts.page - 1 };
  const toPage = pageAt(readRows, facts);
  return toPage === facts.page ? undefined : { kind: 'realign', toPage };
}

/** The page with the row that so many others stand before. */
function pageAt(rowsBefore: number, { size }: PageFacts): number {
  return Math.floor(Math.max(0, rowsBefore) / size) + 1;
}

/** After going back, no row of the page was met before: more has moved than the total tells. */
function isTorn(
  { isBack }: WalkProgress,
  { page, keys }: PageFacts,
  recentKeys: PageBefore['recentKeys'],
): boolean {
  if (!isBack || page === 1 || keys.length === 0) return false;
  return !isAnyKnown(keys, recentKeys);
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
export function afterStep(
  walk: WalkProgress,
  facts: PageFacts,
  step: ScanStep,
  before: PageBefore,
): WalkProgress {
  const steps = timeSteps(facts.times);
  const seam = stepsAtSeam(walk, facts, before);
  const isBack = 'toPage' in step;
  const isRepeated = isShownAgain(step);
  // Where the limit of rewinds was reached, rows may have slipped past the seam.
  const isSeamOpen = !isBack && stepBack(walk, facts, before) !== undefined;
  const isShort = !walk.isLastFull && !isRepeated && facts.listed > 0;
  const hasShortPages = walk.hasShortPages || isShort || isEndUntold(walk, facts);
  return {
    ...walk,
    rising: walk.rising + steps.rising + seam.rising,
    falling: walk.falling + steps.falling + seam.falling,
    met: walk.met + (isRepeated ? 0 : facts.keys.length),
    unstorable: walk.unstorable + facts.unstorable,
    startTotal: walk.startTotal ?? facts.total,
    ...totalsAfter(walk, facts, before.fall),
    pageSize: facts.listed > 0 || isBack ? facts.size : walk.pageSize,
    rewinds: walk.rewinds + Number(isBack),
    nextPage: isBack ? step.toPage : facts.page + 1,
    isLastFull: isBack || isFull(facts),
    hasShortPages,
    isClean: walk.isClean && !isSeamOpen,
    isBack: step.kind === 'rewind',
    undated: withUndated(walk.undated, facts),
  };
}

/**
 * The rows on either side of a seam are neighbours, too, unless rows have come in before it. Counted only where no two
 * rows within a page have shown their direction yet.
 */
function stepsAtSeam(
  { rising, falling, lastTotal }: WalkProgress,
  { total, firstTime, keys }: PageFacts,
  { previousTime, recentKeys }: PageBefore,
): { rising: number; falling: number } {
  const none = { rising: 0, falling: 0 };
  if (previousTime === null || firstTime === null || total !== lastTotal) return none;
  const steps = timeSteps([previousTime, firstTime]);
  const isNews = steps.rising > rising || steps.falling > falling;
  return isNews && !isAnyKnown(keys, recentKeys) ? steps : none;
}

function isAnyKnown(keys: string[], recentKeys: PageBefore['recentKeys']): boolean {
  const known = new Set(recentKeys.flat());
  return keys.some((key) => known.has(key));
}

function totalsAfter(walk: WalkProgress, facts: PageFacts, fall: number): Partial<WalkProgress> {
  const fallenTo = walk.lastTotal === null ? null : Math.max(0, walk.lastTotal - fall);
  const lastTotal = isTotalTold(facts, true) ? facts.total : fallenTo;
  const change = lastTotal === null ? 0 : lastTotal - (walk.lastTotal ?? lastTotal);
  return {
    lastTotal,
    hasRisen: walk.hasRisen || change > 0,
    hasFallen: walk.hasFallen || change < 0 || fall > 0,
  };
}

/** A page without rows where the total expects some, which does not tell the total itself: another replica's, maybe. */
function isEndUntold(walk: WalkProgress, { page, size, listed, total }: PageFacts): boolean {
  return listed === 0 && !total && (page - 1) * size < (walk.lastTotal ?? 0);
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
