/**
 * Reads pages that the service refuses although the total says that the list has them. Either the total is wrong or the
 * refusal; only the pages before show which.
 */
import type { ListSession } from './list-session.ts';
import { type ListState, lastPage, type PageFacts, withCheckpoint } from './list-state.ts';
import { endPage, isEndShown, isFailureBehind, isRefusal, type LastPage } from './scan-end.ts';

/**
 * Returns the last page up to `page` that the list has by its total. If the service refuses a later one, the list ends.
 * Without a total the list may have any page.
 */
export function lastCounted(page: number, state: ListState): number {
  return state.serviceTotal === null ? page : Math.min(page, lastPage(state));
}

/**
 * Reads a page. A refused page counts as lying after the list's end if the pages before show that the list has ended,
 * or that pages are larger than assumed. Without a total the same holds for a page that ends with HTTP 5xx, but only if
 * a page of another size shows the end.
 */
export async function readOrEnd<P extends PageFacts>(
  session: ListSession<P>,
  page: number,
  {
    upTo = lastCounted(page, session.state),
    isFresh = false,
  }: { upTo?: number; isFresh?: boolean } = {},
): Promise<P> {
  try {
    return await session.read(page, upTo, isFresh);
  } catch (error) {
    if (page > 1 && isFailureBehind(error, session.state))
      return await emptyAtEnd(session, page, error);
    if (page === 1 || !isRefusal(error)) throw error;
    const isOver = (await isOverBefore(session, page)) || (await isSizeWrong(session));
    if (!isOver) throw error;
    return await session.read(page, page - 1);
  }
}

/** Reads a page; null if it ends with HTTP 5xx, or is refused, and the list may end before it. */
export async function readOrNull<P extends PageFacts>(
  session: ListSession<P>,
  page: number,
): Promise<P | null> {
  const facts = await session.read(page, Math.max(1, page - 1)).catch((error: unknown) => {
    if (page > 1 && isFailureBehind(error, session.state)) return null;
    throw error;
  });
  return facts?.isRefused === true ? null : facts;
}

async function isOverBefore<P extends PageFacts>(
  session: ListSession<P>,
  refused: number,
): Promise<boolean> {
  const last = await lastReadable(session, refused);
  return last.listed < last.size || (await isEndOfList(session, last));
}

/** Returns an empty page in place of one that failed, if the list ends before it; otherwise throws the failure. */
async function emptyAtEnd<P extends PageFacts>(
  session: ListSession<P>,
  page: number,
  failure: unknown,
): Promise<P> {
  const last = await lastReadable(session, page);
  const isSingleRow = last.listed < last.size && endPage(last) === null;
  if (!isSingleRow && !(await isEndOfList(session, last))) throw failure;
  const nothing = { listed: 0, unstorable: 0, keys: [], times: [], datedKeys: [] };
  return { ...last, ...nothing, page, firstTime: null, lastTime: null, fingerprint: '' };
}

/** Returns the last page before the first refused one, usually the page before this one. */
async function lastReadable<P extends PageFacts>(
  session: ListSession<P>,
  refused: number,
): Promise<P> {
  let high = refused;
  const before = await readOrNull(session, high - 1);
  if (before !== null) return before;
  let last = await session.read(1);
  for (high -= 1; high - last.page > 1; ) {
    const middle = Math.floor((last.page + high) / 2);
    const facts = await readOrNull(session, middle);
    if (facts === null) high = middle;
    else last = facts;
  }
  return last;
}

/** Returns true if a page of another size shows that the list ends with this page. */
export async function isEndOfList<P extends PageFacts>(
  session: ListSession<P>,
  last: LastPage,
): Promise<boolean> {
  const end = endPage(last);
  if (end === null) return false;
  const facts = await session.readSized(end.page, end.size);
  return facts !== null && isEndShown(facts, end);
}

/**
 * Returns true if a list without a usable total ends with this page, its pages being smaller than they claim: the first
 * page is short although others follow it. Stores that size in the state.
 */
export async function isClampedEnd<P extends PageFacts>(
  session: ListSession<P>,
  last: LastPage,
): Promise<boolean> {
  if (last.page === 1) return false;
  const { size: claimed, listed: actual } = await session.read(1);
  const isClamped = actual < claimed && last.listed <= actual;
  if (!isClamped || (session.state.serviceTotal ?? 0) >= actual) return false;
  const clampedSize = { claimed, actual };
  session.apply(withCheckpoint({ ...session.state, pageSize: actual }, { clampedSize }));
  return await isEndOfList(session, { ...last, size: actual });
}

/** Returns true if page 1 shows that the pages are not as small as a short one made them seem. */
export async function isSizeWrong<P extends PageFacts>(session: ListSession<P>): Promise<boolean> {
  const { clampedSize } = session.state.checkpoint;
  if (clampedSize === null) return false;
  await session.read(1);
  return session.state.checkpoint.clampedSize?.actual !== clampedSize.actual;
}
