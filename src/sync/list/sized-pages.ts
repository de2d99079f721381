/**
 * Reads pages in the size that the service grants. A refusal may mean that the page is too large, that the service is
 * busy, or that a row in it is bad. A smaller size is kept only if it alone explains the service's answers.
 */
import { LedgerError } from '../../kernel/errors.ts';
import type { Page } from '../../kernel/wallet-records.ts';
import { dividePage, isServiceAnswering, pageFailure } from './divide-page.ts';
import type { DivisionMemory } from './division-memory.ts';
import type { ListSource } from './list-source.ts';
import { recallPage } from './recall-page.ts';

const pageSizeMin = 10;

export type SizedPages<T> = {
  /**
   * Reads one page. `isBeyond`: the list may end before it, so that a refusal means its end. Throws a LedgerError if no
   * size and no division helps.
   */
  read(page: number, isBeyond: boolean, signal: AbortSignal): Promise<Page<T>>;
  /** Returns the size to request. */
  size(): number;
};

export type SizeOptions<T> = {
  askSize: number;
  /** A larger size to try once before `askSize`; absent: none. */
  probeSize?: number | undefined;
  memory: DivisionMemory<T>;
};

type State<T> = {
  source: ListSource<T>;
  memory: DivisionMemory<T>;
  size: number;
  /** Size to return to if the larger one on trial is refused; null: none is on trial. */
  fallback: number | null;
  /** Largest size that the service has granted here. */
  granted: number;
  /** Rows per page by the service's own claim, if it serves fewer than requested. */
  served: number | null;
  /** A page could not be read even in parts: no page is divided before one is readable again. */
  isDown: boolean;
};

export function createSizedPages<T>(
  source: ListSource<T>,
  { askSize, probeSize = askSize, memory }: SizeOptions<T>,
): SizedPages<T> {
  const isProbe = probeSize > askSize && !memory.isFailing();
  const state: State<T> = {
    source,
    memory,
    size: isProbe ? probeSize : askSize,
    fallback: isProbe ? askSize : null,
    granted: 0,
    served: null,
    isDown: false,
  };
  let turn: Promise<unknown> = Promise.resolve();
  let isFailureNoted = false;
  return {
    size: () => state.fallback ?? state.size,
    async read(page, isBeyond, signal) {
      const { size } = state;
      const isFailing = memory.isFailing();
      const isKnownBad = isFailing || memory.recall(page, state.served ?? size) !== undefined;
      const answer = await ask(state, page, size, signal, isKnownBad ? 1 : undefined);
      if (!(answer instanceof LedgerError)) return answer;
      if (isBeyond && !isFault(answer)) return noPage;
      if (isFailing && memory.isFailing()) throw answer;
      // Pages in flight fail together: the result for the first one holds for the others.
      const cured = turn.then(() => cure(state, page, { size, failure: answer }, signal));
      turn = cured.catch((error: unknown) => {
        if (!(error instanceof LedgerError) || isFailureNoted) return;
        isFailureNoted = true;
        memory.noteFailure();
      });
      return await cured;
    },
  };
}

/** Returns true for a failure that a page after the list's end does not explain. */
function isFault({ code, isAnswered }: LedgerError): boolean {
  return code === 'service-malformed' || isAnswered;
}

const noPage = {
  observation: 0,
  pageNo: null,
  pageSize: 0,
  totalSize: null,
  listed: 0,
  records: [],
  rejects: [],
  isRefused: true,
};

async function ask<T>(
  state: State<T>,
  page: number,
  size: number,
  signal: AbortSignal,
  failuresMax?: number,
): Promise<Page<T> | LedgerError> {
  const answer = await state.source.readPage(page, size, signal, failuresMax).catch(pageFailure);
  if (answer instanceof LedgerError) return answer;
  state.isDown = false;
  state.memory.noteAnswer();
  state.granted = Math.max(state.granted, size);
  if (state.fallback !== null && size > state.fallback) state.fallback = null;
  // A short last page shows nothing about the others.
  const isFollowed = answer.totalSize !== null && page * answer.pageSize < answer.totalSize;
  if (isFollowed) state.served = answer.pageSize < size ? answer.pageSize : null;
  return answer;
}

type Failed = { size: number; failure: LedgerError };

async function cure<T>(
  state: State<T>,
  page: number,
  failed: Failed,
  signal: AbortSignal,
): Promise<Page<T>> {
  let { size, failure } = failed;
  if (state.size !== size) {
    size = state.size;
    const answer = await ask(state, page, size, signal);
    if (!(answer instanceof LedgerError)) return answer;
    failure = answer;
  }
  const isSizeDoubted = failure.code !== 'service-malformed' && size > state.granted;
  if (isSizeDoubted && !failure.isAnswered) {
    return await findSize(state, page, { size, failure }, signal);
  }
  const divided = await divide(state, page, { size, failure }, signal);
  const isSizeAtFault = isSizeDoubted && divided.rejects.length === 0;
  return isSizeAtFault ? await findSize(state, page, { size, failure }, signal) : divided;
}

/**
 * Finds a size that the service grants for the page, from large to small. Then tries the larger ones again, because the
 * cause of their refusal may have passed.
 */
async function findSize<T>(
  state: State<T>,
  page: number,
  { size, failure }: Failed,
  signal: AbortSignal,
): Promise<Page<T>> {
  const { fallback } = state;
  state.fallback = null;
  const refused = [size];
  let last = failure;
  for (const smaller of smallerSizes(size, fallback)) {
    const answer = await ask(state, page, smaller, signal, failure.isAnswered ? 1 : undefined);
    if (!(answer instanceof LedgerError)) {
      // The larger size was refused in an earlier pass and has just been tried again.
      const isFoundBefore = smaller === fallback;
      const larger = isFoundBefore ? [] : refused;
      return await climb(state, page, { size: smaller, answer }, larger, signal);
    }
    refused.unshift(smaller);
    last = answer;
  }
  state.size = fallback ?? size;
  throw last;
}

async function climb<T>(
  state: State<T>,
  page: number,
  granted: { size: number; answer: Page<T> },
  larger: number[],
  signal: AbortSignal,
): Promise<Page<T>> {
  let best = granted;
  for (const size of larger) {
    const answer = await ask(state, page, size, signal);
    if (answer instanceof LedgerError) break;
    best = { size, answer };
  }
  state.size = best.size;
  return best.answer;
}

/** Returns ever smaller halves down to 10; a size that was granted in an earlier pass comes first. */
function smallerSizes(size: number, fallback: number | null): number[] {
  const sizes = fallback === null ? [] : [fallback];
  for (let next = fallback ?? size; next > pageSizeMin; ) {
    next = Math.max(pageSizeMin, Math.floor(next / 2));
    sizes.push(next);
  }
  return sizes;
}

async function divide<T>(
  state: State<T>,
  page: number,
  failed: Failed,
  signal: AbortSignal,
): Promise<Page<T>> {
  const { source, memory } = state;
  for (;;) {
    const size = state.served ?? failed.size;
    const recalled = await recallPage(source, { page, size }, { signal, memory });
    if (recalled !== null) return recalled;
    state.isDown ||= await isServiceDown(state, { page, size }, failed.failure, signal);
    if (state.isDown) throw failed.failure;
    const divided = await dividePage(source, { page, size }, { signal, memory });
    if (divided !== null && 'records' in divided) return divided;
    state.isDown = divided === null;
    // The pages are smaller than assumed; each round makes them smaller.
    if (divided !== null) state.served = divided.servedSize;
  }
}

/** Returns true if the page failed with an answer such as HTTP 500, and so does every row of it or near it. */
async function isServiceDown<T>(
  { source }: State<T>,
  place: { page: number; size: number },
  { isAnswered }: LedgerError,
  signal: AbortSignal,
): Promise<boolean> {
  return isAnswered && !(await isServiceAnswering(source, place, signal));
}
