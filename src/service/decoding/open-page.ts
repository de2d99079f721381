import { LedgerError } from '../../kernel/errors.ts';
import { limits } from '../limits.ts';
import { integerIn } from './field-readers.ts';
import { OddAnswer } from './unreadable-answer.ts';

/**
 * Page object (docs/wallet-service-api.md, section 2.2) with rows not yet decoded; null marks a missing or unusable
 * value.
 */
export type RawPage = {
  rows: unknown[];
  pageNo: number | null;
  pageSize: number | null;
  totalSize: number | null;
  /** A page without a total and without a list, which was accepted as empty. */
  isListless?: boolean;
  /** Page 1 whose data was an empty form instead of a page object, which was accepted as an empty list. */
  isNothing?: boolean;
};

/** Page number (from 1) and page size of the request. */
export type AskedPlace = { pageNo: number; pageSize: number };

/**
 * Reads a page object. A missing list, or null, {} or "" in its place, counts as empty if the total is 0 or the
 * requested page is beyond it. Without a total such a list after page 1 may be the end of the list or a fault, so it
 * is service-malformed with an OddAnswer as cause, unless `isLenient`. Throws service-malformed for any other page
 * without a list.
 */
export function openPage(
  data: unknown,
  asked: AskedPlace = { pageNo: 1, pageSize: 1 },
  isLenient = false,
): RawPage {
  const { list, pageNo, pageSize, totalSize } = openObject(data);
  const page: RawPage = {
    rows: Array.isArray(list) ? openList(list) : [],
    pageNo: integerIn(pageNo, 0, Number.MAX_SAFE_INTEGER),
    pageSize: integerIn(pageSize, 1, Number.MAX_SAFE_INTEGER),
    totalSize: integerIn(totalSize, 0, Number.MAX_SAFE_INTEGER),
  };
  if (Array.isArray(list)) return page;
  const message = 'a page without a list';
  const rowsBefore = (asked.pageNo - 1) * (page.pageSize ?? asked.pageSize);
  if (!isEmptyForm(list)) throw new LedgerError('service-malformed', message);
  if (page.totalSize !== null && rowsBefore >= page.totalSize) return page;
  const isMaybeEnd = page.totalSize === null && asked.pageNo > 1;
  if (isMaybeEnd && isLenient) return { ...page, isListless: true };
  const cause = isMaybeEnd ? new OddAnswer(message) : undefined;
  throw new LedgerError('service-malformed', message, { cause });
}

/**
 * Reads a page, and accepts an empty form in place of the page object as an empty page. It may also be a fault, so
 * without `isLenient` it is service-malformed with an OddAnswer as cause. Only on page 1 does it mean that the whole
 * list is empty.
 */
export function openListPage(data: unknown, asked: AskedPlace, isLenient: boolean): RawPage {
  if (!isEmptyForm(data)) return openPage(data, asked, isLenient);
  if (!isLenient) {
    const message = 'an answer whose data is not an object';
    throw new LedgerError('service-malformed', message, { cause: new OddAnswer(message) });
  }
  const nothing = { rows: [], pageNo: null, pageSize: null };
  return asked.pageNo === 1
    ? { ...nothing, totalSize: 0, isNothing: true }
    : { ...nothing, totalSize: null };
}

/**
 * Returns true for the forms in which services write an empty list: null, [], {} (as PHP does), "", and no field at
 * all.
 */
export function isEmptyForm(data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return data == null || data === '';
  return Object.keys(data).length === 0;
}

/** Reads data that is one object; throws service-malformed for anything else. */
export function openObject(data: unknown): Record<string, unknown> {
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) {
    return data as Record<string, unknown>;
  }
  throw new LedgerError('service-malformed', 'an answer whose data is not an object');
}

/** Reads data that is a list; throws service-malformed for anything else, and for too many rows. */
export function openList(data: unknown): unknown[] {
  if (Array.isArray(data)) {
    if (data.length <= limits.answerRows.max) return data;
    throw new LedgerError(
      'service-malformed',
      `an answer of more than ${limits.answerRows.max} rows`,
    );
  }
  throw new LedgerError('service-malformed', 'an answer whose data is not a list');
}
