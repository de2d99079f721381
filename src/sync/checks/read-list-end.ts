import { LedgerError } from '../../kernel/errors.ts';
import type { Page } from '../../kernel/wallet-records.ts';
import { pageFailure } from '../list/divide-page.ts';
import type { ListSource } from '../list/list-source.ts';
import { orderOf, timeSteps } from '../list/list-state.ts';

/**
 * The service's total, and the time (Unix ms) of the list's newest row; null where the service does not show it. In a
 * list that follows the times, a row with a later time arrived after this was read.
 */
export type ListEnd = { total: number | null; newest: number | null };

/** Attempts for a page: more than one, because a single HTTP 500 may be transient. */
const attemptsMax = 2;

type Asking<T> = { source: ListSource<T>; pageSize: number; signal: AbortSignal };

const unknown: ListEnd = { total: null, newest: null };

/** Reads the end at which a list grows: page 1, and for a list with the oldest row first its last page as well. */
export async function readListEnd<T>(asking: Asking<T>): Promise<ListEnd> {
  const first = await readPage(asking, 1);
  if (first instanceof LedgerError) return unknown;
  const { totalSize: total, listed } = first;
  const times = timesOf(asking, first);
  const isWhole = total !== null && listed === total && listed < first.pageSize;
  const order = orderOf(timeSteps(times));
  if (isWhole || order === 'newest-first') return { total, newest: latest(times) };
  if (order !== 'oldest-first' || total === null) return { total, newest: null };
  return { total, newest: await newestAtEnd(asking, first, total) };
}

/** Reads up to the page that is not full. A second full page means that the total does not show the list's end. */
async function newestAtEnd<T>(
  asking: Asking<T>,
  first: Page<T>,
  total: number,
): Promise<number | null> {
  const size = Math.max(1, first.pageSize);
  const lastPage = Math.max(1, Math.ceil(total / size));
  const last = lastPage === 1 ? first : await readPage(asking, lastPage);
  if (last instanceof LedgerError || last.listed === 0) return null;
  const newest = latest(timesOf(asking, last));
  if (last.listed < size) return newest;
  const behind = await readPage(asking, lastPage + 1);
  // Some services refuse a page after the end; HTTP 500 says nothing about the end.
  if (behind instanceof LedgerError) return behind.isAnswered ? null : newest;
  if (behind.listed === 0) return newest;
  return behind.listed < size ? latest(timesOf(asking, behind)) : null;
}

/** Reads one page; returns the failure if the service refuses it or it cannot be read. */
async function readPage<T>(
  { source, pageSize, signal }: Asking<T>,
  pageNo: number,
): Promise<Page<T> | LedgerError> {
  return await source.readPage(pageNo, pageSize, signal, attemptsMax).catch(pageFailure);
}

function timesOf<T>({ source }: Asking<T>, { records }: Page<T>): number[] {
  return records.flatMap((record) => source.timeOf(record) ?? []);
}

function latest(times: number[]): number | null {
  return times.length === 0 ? null : Math.max(...times);
}
