import { hash } from 'node:crypto';
import { LedgerError } from '../../kernel/errors.ts';
import { ignoreRejection } from '../../kernel/ignore-rejection.ts';
import { mapInSlices } from '../../kernel/in-slices.ts';
import type { Page } from '../../kernel/wallet-records.ts';
import { pageFailure } from './divide-page.ts';
import { createDivisionMemory, type DivisionMemory } from './division-memory.ts';
import type { ListSource } from './list-source.ts';
import type { PageFacts } from './list-state.ts';
import { createSizedPages, type SizedPages } from './sized-pages.ts';

export type { ListSource } from './list-source.ts';

/** A page with its rows, on the way from the service to the ledger. */
export type ListedPage<T> = PageFacts & { content: Page<T> };

/**
 * Attempts for a page: a proxy may return another page once, but a service that ignores the page number does so always.
 */
const wrongPageTries = 3;

/**
 * Reads pages of one list: several ahead if the caller allows it, and smaller ones if the service refuses the size.
 * Divides a page that cannot be read down to the unreadable row, which becomes a reject.
 */
export type PageReader<T> = {
  read(page: number, upTo: number, isFresh: boolean): Promise<ListedPage<T>>;
  /** Reads one page of another size; null if the service refuses it. */
  readSized(page: number, size: number): Promise<ListedPage<T> | null>;
  requestedPageSize(): number;
  /** Pages fetched or being fetched ahead. */
  aheadCount(): number;
  /** Aborts the requests for pages ahead. */
  close(): void;
};

export type PageReaderOptions<T> = {
  requestedPageSize: number;
  /** A larger size to try once before `requestedPageSize`; absent: none. */
  probeSize?: number | undefined;
  concurrency: number;
  signal: AbortSignal;
  /** Unreadable rows found by earlier passes; absent: none. */
  memory?: DivisionMemory<T>;
};

type Asking<T> = { source: ListSource<T>; pages: SizedPages<T> };

export function createPageReader<T>(
  source: ListSource<T>,
  options: PageReaderOptions<T>,
): PageReader<T> {
  const { requestedPageSize, probeSize, memory = createDivisionMemory<T>() } = options;
  const pages = createSizedPages(source, { askSize: requestedPageSize, probeSize, memory });
  const asking: Asking<T> = { source, pages };
  let ahead = new Map<number, Promise<ListedPage<T>>>();
  let aheadAbort = new AbortController();
  // One signal for all pages ahead: each combined signal costs memory for as long as its sources live.
  let signal = AbortSignal.any([options.signal, aheadAbort.signal]);
  const forgetAhead = (): void => {
    aheadAbort.abort();
    aheadAbort = new AbortController();
    signal = AbortSignal.any([options.signal, aheadAbort.signal]);
    ahead = new Map();
  };
  return {
    requestedPageSize: pages.size,
    aheadCount: () => ahead.size,
    async read(page, upTo, isFresh) {
      // A page fetched ahead was requested as one within the list, so it is not used for a page that may lie after it.
      if (ahead.size > 0 && (isFresh || !ahead.has(page) || page > upTo)) forgetAhead();
      const fetched = ahead.get(page);
      ahead.delete(page);
      const current = fetched ?? fetchPage(asking, page, page > upTo, signal);
      const aheadMax = Math.min(upTo, page + 2 * options.concurrency);
      for (let next = page + 1; next <= aheadMax; next += 1) {
        if (!ahead.has(next))
          ahead.set(next, ignoreRejection(fetchPage(asking, next, false, signal)));
      }
      return { ...(await current), isFresh: fetched === undefined };
    },
    async readSized(page, size) {
      const answer = await source.readPage(page, size, options.signal).catch(pageFailure);
      return answer instanceof LedgerError ? null : await toListedPage(page, answer, source);
    },
    close: forgetAhead,
  };
}

/**
 * Reads one page. `isBeyond`: the list may end before it, so that a refusal or another page means its end. Throws a
 * LedgerError if the service ignores the page number.
 */
async function fetchPage<T>(
  asking: Asking<T>,
  page: number,
  isBeyond: boolean,
  signal: AbortSignal,
): Promise<ListedPage<T>> {
  for (let attempt = 1; ; attempt += 1) {
    const content = await asking.pages.read(page, isBeyond, signal);
    const isEcho = content.pageNo === null || content.pageNo === page || content.listed === 0;
    if (isEcho) return await toListedPage(page, content, asking.source);
    if (isBeyond || endsBefore(content, page)) {
      return await toListedPage(page, { ...content, ...nothing }, asking.source);
    }
    if (attempt === wrongPageTries) throw wrongPage(page, content.pageNo);
  }
}

const nothing = { listed: 0, records: [], rejects: [] };

/** Returns true if the list ends before the page by its total; without one, if a page that is not full came instead. */
function endsBefore({ totalSize, pageSize, listed }: Page<unknown>, page: number): boolean {
  return totalSize === null ? listed < pageSize : (page - 1) * pageSize >= totalSize;
}

function wrongPage(asked: number, answered: number | null): LedgerError {
  return new LedgerError(
    'service-parameters',
    `page ${asked} of the list was requested and page ${answered} came: the service seems to ignore the page parameter`,
  );
}

async function toListedPage<T>(
  page: number,
  content: Page<T>,
  source: ListSource<T>,
): Promise<ListedPage<T>> {
  const answered = nextAnswer();
  const keys = content.records.map((record) => source.keyOf(record));
  const times: number[] = [];
  const datedKeys: string[] = [];
  content.records.forEach((record, index) => {
    const time = source.timeOf(record);
    if (time === null) return;
    times.push(time);
    datedKeys.push(keys[index] ?? '');
  });
  const shown = [...keys, ...content.rejects.map(({ payload }) => payload)].join('\n');
  return {
    page,
    size: Math.max(1, content.pageSize),
    total: content.totalSize,
    listed: content.listed,
    isRefused: content.isRefused,
    unstorable: content.listed - content.records.length,
    unstorableTimes: await unstorableTimes(content, source),
    keys,
    times,
    datedKeys,
    firstTime: edgeTime(content.records[0], source),
    lastTime: edgeTime(content.records.at(-1), source),
    fingerprint: hash('sha1', shown, 'base64'),
    isFresh: true,
    observation: content.observation,
    answered,
    content,
  };
}

/** Number of rejects whose times are read before yielding to the event loop. */
const rejectsInOneGo = 1_000;

/** Returns the readable times of the rows that cannot be stored. */
async function unstorableTimes<T>({ rejects }: Page<T>, source: ListSource<T>): Promise<number[]> {
  const times = await mapInSlices(
    rejects,
    rejectsInOneGo,
    () => 1,
    ({ orderNo, payload }) => (orderNo === null ? source.timeOfPayload?.(payload) : null),
  );
  return times.filter((time) => typeof time === 'number');
}

let answers = 0;

function nextAnswer(): number {
  answers += 1;
  return answers;
}

function edgeTime<T>(record: T | undefined, source: ListSource<T>): number | null {
  return record === undefined ? null : source.timeOf(record);
}
