/** Decisions of a full scan after each page, and the scan's next progress. Pure. */
import type { WalkProgress } from './list-checkpoint.ts';
import { isTotalReported, type PageFacts, timeSteps } from './list-state.ts';
import { unstoredDays, unstoredMax } from './read-days.ts';

/**
 * Bounds of the rewinds, so that a list that constantly loses rows or changes its page size cannot keep a scan from
 * ending.
 */
const rewindsMin = 10;
const rewindShare = 0.5;
/** The same while the total counts fewer rows than the pages so far have: it may be the total of one page. */
const doubtfulRewindsMax = 2;
/** Upper bound of the rows without a readable time that are compared one by one. */
export const undatedMax = 500;

export type ScanStep =
  | { kind: 'next' }
  /** `isRepeated`: the page repeats the page before it, after the end of the list. */
  | { kind: 'end'; isRepeated: boolean }
  | { kind: 'rewind'; toPage: number }
  | { kind: 'realign'; toPage: number }
  | { kind: 'repeat' };

/**
 * Facts about the pages before this one. `repeats`: number of consecutive pages with the same rows. `recentKeys`: keys
 * of the last few pages. `fall`: number of rows by which the total has fallen since, according to any request; the
 * page's own total may not show it.
 */
export type PageBefore = {
  previousFingerprint: string | null;
  previousTime: number | null;
  repeats: number;
  recentKeys: readonly (readonly string[])[];
  fall: number;
};

/**
 * Pages on which the list ends by its total, and on which it would end with the rows that the ledger holds.
 * `isFollowed`: the page after this one has other rows, whatever the total says.
 */
export type ExpectedEnds = { last: number; lastHeld: number; isFollowed: boolean };

/** Decides on the step after a page. */
export function decideScanStep(
  walk: WalkProgress,
  facts: PageFacts,
  { last, lastHeld, isFollowed }: ExpectedEnds,
  before: PageBefore,
): ScanStep {
  const { previousFingerprint, repeats } = before;
  const back = mayGoBack(walk, facts) ? stepBack(walk, facts, before) : undefined;
  if (facts.listed === 0) return back ?? afterEmptyPage(facts, last, previousFingerprint);
  if (isRepeat(walk, facts, previousFingerprint)) {
    // A repeat may be a page's worth of new rows that the total does not show, followed by known rows.
    const isEnd = facts.page > Math.max(last, lastHeld) && repeats > 0;
    return isEnd ? { kind: 'end', isRepeated: true } : { kind: 'repeat' };
  }
  const isEnd = isEndAtTotal(facts) && !isFollowed;
  return back ?? (isEnd ? { kind: 'end', isRepeated: false } : { kind: 'next' });
}

/**
 * Decides on the step after an empty page. One empty page before the last one may just lack its rows; two in a row are
 * the list's end.
 */
function afterEmptyPage(
  { page, fingerprint }: PageFacts,
  last: number,
  previousFingerprint: string | null,
): ScanStep {
  const mayGoOn = page < last && fingerprint !== previousFingerprint;
  return mayGoOn ? { kind: 'next' } : { kind: 'end', isRepeated: false };
}

/**
 * Returns true if a short page ends the list. The total must agree, because a short page in the middle may just lack
 * rows.
 */
export function isEndAtTotal(facts: PageFacts): boolean {
  const readRows = (facts.page - 1) * facts.size + facts.listed;
  return !isFull(facts) && readRows === facts.total;
}

function isFull(facts: PageFacts): boolean {
  return facts.listed >= facts.size;
}

/**
 * Returns true if the page repeats the one before it. After a page's worth of new rows a page repeats as well, but then
 * the total has risen by as many.
 */
function isRepeat(
  walk: WalkProgress,
  facts: PageFacts,
  previousFingerprint: string | null,
): boolean {
  const risen = (facts.total ?? 0) - (walk.lastTotal ?? 0);
  return facts.fingerprint === previousFingerprint && risen < facts.listed;
}

function mayGoBack(walk: WalkProgress, facts: PageFacts): boolean {
  const { page, size, listed, total } = facts;
  const isDoubtful = total !== null && listed > 0 && total < (page - 1) * size + listed;
  const most = isDoubtful ? doubtfulRewindsMax : Math.max(rewindsMin, page * rewindShare);
  return walk.rewinds < most;
}

/**
 * Returns the step back to the place up to which the scan has met every row, if rows were removed or the page size
 * changed. After a removal the step includes the last row met: it shows that the total reported every removal.
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

/** Returns the page of the row that has `rowsBefore` rows before it. */
function pageAt(rowsBefore: number, { size }: PageFacts): number {
  return Math.floor(Math.max(0, rowsBefore) / size) + 1;
}

/**
 * Returns true if the page after a step back shows no row that was met before: more rows have moved than the total
 * reports.
 */
function isTorn(
  { isBack }: WalkProgress,
  { page, keys }: PageFacts,
  recentKeys: PageBefore['recentKeys'],
): boolean {
  if (!isBack || page === 1 || keys.length === 0) return false;
  return !isAnyKnown(keys, recentKeys);
}

/**
 * Counts the removed rows by the fall of the total. Some services report a total of 0 for a page after the end, which
 * is no information about removed rows.
 */
function removedRows(walk: WalkProgress, facts: PageFacts): number {
  if (walk.lastTotal === null || facts.total === null) return 0;
  if (facts.listed === 0 && facts.total === 0) return 0;
  return Math.max(0, walk.lastTotal - facts.total);
}

/** Returns the rows per page before this page. A last page that is not full may claim another size than the others. */
function sizeSoFar(walk: WalkProgress, facts: PageFacts): number {
  const { pageSize } = walk;
  return pageSize !== null && (facts.size > pageSize || isFull(facts)) ? pageSize : facts.size;
}

/** Returns the progress after a page and the step that it led to. */
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
  // The limit of rewinds is reached, so rows may have been missed at this page boundary.
  const isSeamOpen = !isBack && stepBack(walk, facts, before) !== undefined;
  const isShort = !walk.isLastFull && !isRepeated && facts.listed > 0;
  const hasShortPages = walk.hasShortPages || isShort || isEndUncertain(walk, facts);
  return {
    ...walk,
    rising: walk.rising + steps.rising + seam.rising,
    falling: walk.falling + steps.falling + seam.falling,
    met: walk.met + (isRepeated ? 0 : facts.keys.length),
    unstorable: walk.unstorable + facts.unstorable,
    startTotal: walk.startTotal ?? facts.total,
    lastTotal: totalAfter(walk, facts, before.fall),
    pageSize: facts.listed > 0 || isBack ? facts.size : walk.pageSize,
    rewinds: walk.rewinds + pagesBack(facts, step),
    nextPage: isBack ? step.toPage : facts.page + 1,
    isLastFull: isBack || isFull(facts),
    hasShortPages,
    isClean: walk.isClean && !isSeamOpen,
    isBack: step.kind === 'rewind',
    undated: withUndated(walk.undated, facts),
    ...withUnstored(walk, facts),
  };
}

/** Returns the number of pages that are read again after a step back, at least one. */
const pagesBack = ({ page }: PageFacts, step: ScanStep) =>
  step.kind === 'rewind' ? Math.max(1, page - step.toPage) : Number(step.kind === 'realign');

/**
 * Counts the step in time between the last row of the previous page and the first row of this one. If rows have arrived
 * in between, the two rows are not neighbours, so a step counts only if its direction has not been seen yet.
 */
function stepsAtSeam(
  { rising, falling }: WalkProgress,
  { firstTime, keys }: PageFacts,
  { previousTime, recentKeys }: PageBefore,
): { rising: number; falling: number } {
  const none = { rising: 0, falling: 0 };
  if (previousTime === null || firstTime === null) return none;
  const steps = timeSteps([previousTime, firstTime]);
  const isNews = steps.rising > rising || steps.falling > falling;
  return isNews && !isAnyKnown(keys, recentKeys) ? steps : none;
}

function isAnyKnown(keys: string[], recentKeys: PageBefore['recentKeys']): boolean {
  const known = new Set(recentKeys.flat());
  return keys.some((key) => known.has(key));
}

/** Returns the total after a page. `fall` is known from other requests. */
function totalAfter(walk: WalkProgress, facts: PageFacts, fall: number): number | null {
  const fallenTo = walk.lastTotal === null ? null : Math.max(0, walk.lastTotal - fall);
  return isTotalReported(facts, true) ? facts.total : fallenTo;
}

/**
 * Returns true for an empty page where the list should have rows, if its total is missing or 0. Another replica may
 * have answered.
 */
function isEndUncertain(walk: WalkProgress, { page, size, listed, total }: PageFacts): boolean {
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

function withUnstored({ unstored = [] }: WalkProgress, facts: PageFacts) {
  const days = unstoredDays(facts).filter((day) => !unstored.includes(day));
  return days.length === 0 ? {} : { unstored: [...unstored, ...days].slice(0, unstoredMax + 1) };
}
