import { hash } from 'node:crypto';
import { LedgerError } from '../kernel/errors.ts';
import { quietly } from '../kernel/quietly.ts';
import type { Page } from '../kernel/wallet-records.ts';
import type { PageFacts } from './list-state.ts';

/** A page with its rows, as it goes from the service to the ledger. */
export type ListedPage<T> = PageFacts & { content: Page<T> };

/** What differs from list to list. */
export type ListSource<T> = {
  readPage(pageNo: number, pageSize: number, signal: AbortSignal): Promise<Page<T>>;
  keyOf(record: T): string;
  /** Unix ms; null where the list shows no times. */
  timeOf(record: T): number | null;
};

const pageSizeMin = 10;
/** Another page than the asked one may come from a proxy once; a service that ignores the number sends it always. */
const wrongPageTries = 3;

/** Reads pages of one list: several ahead where the reader says so, smaller ones when the service refuses the size. */
export type PageReader<T> = {
  read(page: number, upTo: number, isFresh: boolean): Promise<ListedPage<T>>;
  requestedPageSize(): number;
  /** Pages fetched or being fetched ahead. */
  aheadCount(): number;
  /** Gives up what is being fetched ahead. */
  close(): void;
};

type Asking<T> = { source: ListSource<T>; size: number };

export function createPageReader<T>(
  source: ListSource<T>,
  options: { requestedPageSize: number; concurrency: number; signal: AbortSignal },
): PageReader<T> {
  const asking: Asking<T> = { source, size: options.requestedPageSize };
  let ahead = new Map<number, Promise<ListedPage<T>>>();
  let aheadAbort = new AbortController();
  // One for the whole window: each combined signal costs memory for as long as its sources live.
  let signal = AbortSignal.any([options.signal, aheadAbort.signal]);
  const forgetAhead = (): void => {
    aheadAbort.abort();
    aheadAbort = new AbortController();
    signal = AbortSignal.any([options.signal, aheadAbort.signal]);
    ahead = new Map();
  };
  return {
    requestedPageSize: () => asking.size,
    aheadCount: () => ahead.size,
    async read(page, upTo, isFresh) {
      if (ahead.size > 0 && (isFresh || !ahead.has(page))) forgetAhead();
      const fetched = ahead.get(page);
      ahead.delete(page);
      const current = fetched ?? fetchPage(asking, page, page > upTo, signal);
      const aheadMax = Math.min(upTo, page + 2 * options.concurrency);
      for (let next = page + 1; next <= aheadMax; next += 1) {
        if (!ahead.has(next)) ahead.set(next, quietly(fetchPage(asking, next, false, signal)));
      }
      return { ...(await current), isFresh: fetched === undefined };
    },
    close: forgetAhead,
  };
}

/** One page. `isBeyond`: the list may well end before it, so a refusal or another page means just that. */
async function fetchPage<T>(
  asking: Asking<T>,
  page: number,
  isBeyond: boolean,
  signal: AbortSignal,
): Promise<ListedPage<T>> {
  for (let attempt = 1; ; attempt += 1) {
    const content = await fetchSized(asking, page, isBeyond, signal);
    const isEcho = content.pageNo === null || content.pageNo === page || content.listed === 0;
    if (isEcho) return toListedPage(page, content, asking.source);
    if (isBeyond || endsBefore(content, page)) {
      return toListedPage(page, { ...content, ...nothing }, asking.source);
    }
    if (attempt === wrongPageTries) throw wrongPage(page, content.pageNo);
  }
}

async function fetchSized<T>(
  asking: Asking<T>,
  page: number,
  isBeyond: boolean,
  signal: AbortSignal,
): Promise<Page<T>> {
  for (;;) {
    const { size, source } = asking;
    const answer = await source.readPage(page, size, signal).catch(refusalOf);
    if (!(answer instanceof LedgerError)) return answer;
    if (isBeyond) return { observation: 0, pageNo: null, pageSize: 0, totalSize: null, ...nothing };
    if (size <= pageSizeMin) throw answer;
    // Several pages in flight are refused at once; the size is halved once for all of them.
    if (asking.size === size) asking.size = Math.max(pageSizeMin, Math.floor(size / 2));
  }
}

const nothing = { listed: 0, records: [], rejects: [] };

/** The failure when it may mean that the service refuses the page or its size; any other is thrown on. */
function refusalOf(error: unknown): LedgerError {
  const isRefusal =
    error instanceof LedgerError &&
    (error.code === 'service-refused' || error.code === 'service-unsettled');
  if (!isRefusal) throw error;
  return error;
}

function endsBefore(content: Page<unknown>, page: number): boolean {
  return content.totalSize !== null && (page - 1) * content.pageSize >= content.totalSize;
}

function wrongPage(asked: number, answered: number | null): LedgerError {
  return new LedgerError(
    'service-parameters',
    `page ${asked} of the list was asked for and page ${answered} came: the service seems to ignore the name of the page parameter`,
  );
}

function toListedPage<T>(page: number, content: Page<T>, source: ListSource<T>): ListedPage<T> {
  const times: number[] = [];
  for (const record of content.records) {
    const time = source.timeOf(record);
    if (time !== null) times.push(time);
  }
  const keys = content.records.map((record) => source.keyOf(record));
  const shown = [...keys, ...content.rejects.map(({ payload }) => payload)].join('\n');
  return {
    page,
    size: Math.max(1, content.pageSize),
    total: content.totalSize,
    listed: content.listed,
    unstorable: content.listed - content.records.length,
    times,
    firstTime: edgeTime(content.records[0], source),
    lastTime: edgeTime(content.records.at(-1), source),
    fingerprint: hash('sha1', shown, 'base64'),
    isFresh: true,
    observation: content.observation,
    content,
  };
}

function edgeTime<T>(record: T | undefined, source: ListSource<T>): number | null {
  return record === undefined ? null : source.timeOf(record);
}
