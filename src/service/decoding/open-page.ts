import { LedgerError } from '../../kernel/errors.ts';
import { limits } from '../limits.ts';
import { integerIn } from './field-readers.ts';
import { OddAnswer } from './unreadable-answer.ts';

/** Section 2.2 of the service's document, its rows not yet decoded; null is what the answer did not usably say. */
export type RawPage = {
  rows: unknown[];
  pageNo: number | null;
  pageSize: number | null;
  totalSize: number | null;
};

/** The first place of the page that was asked for, from 0. */
export type AskedPlace = { pageNo: number; pageSize: number };

/**
 * Reads a page object. A list that is null or missing is an empty one where the total says that
 * there is nothing: when it is 0, or the page that was asked for lies beyond it. Throws
 * service-malformed for any other page without a list.
 */
export function openPage(data: unknown, asked: AskedPlace = { pageNo: 1, pageSize: 1 }): RawPage {
  const { list, pageNo, pageSize, totalSize } = openObject(data);
  const page: RawPage = {
    rows: Array.isArray(list) ? openList(list) : [],
    pageNo: integerIn(pageNo, 0, Number.MAX_SAFE_INTEGER),
    pageSize: integerIn(pageSize, 1, Number.MAX_SAFE_INTEGER),
    totalSize: integerIn(totalSize, 0, Number.MAX_SAFE_INTEGER),
  };
  if (Array.isArray(list)) return page;
  const rowsBefore = (asked.pageNo - 1) * (page.pageSize ?? asked.pageSize);
  const isNothing = page.totalSize !== null && rowsBefore >= page.totalSize;
  if (isNothing && (list === null || list === undefined)) return page;
  throw new LedgerError('service-malformed', 'a page without a list');
}

/**
 * Reads a page that may be answered without a page object: null or an empty list in its place is an
 * empty page. That may as well be a fault, so it is an OddAnswer until `isLenient`. Only page 1
 * says that the whole list is empty.
 */
export function openListPage(data: unknown, asked: AskedPlace, isLenient: boolean): RawPage {
  const isBare = data === null || (Array.isArray(data) && data.length === 0);
  if (!isBare) return openPage(data, asked);
  if (!isLenient) {
    const message = 'an answer whose data is no object';
    throw new LedgerError('service-malformed', message, { cause: new OddAnswer(message) });
  }
  return { rows: [], pageNo: null, pageSize: null, totalSize: asked.pageNo === 1 ? 0 : null };
}

/** Reads data that is one object; throws service-malformed for anything else. */
export function openObject(data: unknown): Record<string, unknown> {
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) {
    return data as Record<string, unknown>;
  }
  throw new LedgerError('service-malformed', 'an answer whose data is no object');
}

/** Reads data that is a list; throws service-malformed for anything else, and for one of too many rows. */
export function openList(data: unknown): unknown[] {
  if (Array.isArray(data)) {
    if (data.length <= limits.answerRows.max) return data;
    throw new LedgerError(
      'service-malformed',
      `an answer of more than ${limits.answerRows.max} rows`,
    );
  }
  throw new LedgerError('service-malformed', 'an answer whose data is no list');
}
