import { LedgerError } from '../kernel/errors.ts';
import { integerIn } from './field-readers.ts';

/** Section 2.2 of the service's document, its rows not yet decoded; null is what the answer did not usably say. */
export type RawPage = {
  rows: unknown[];
  pageNo: number | null;
  pageSize: number | null;
  totalSize: number | null;
};

/** Reads a page object; throws service-malformed when it has no list. */
export function openPage(data: unknown): RawPage {
  const page = openObject(data);
  const { list, pageNo, pageSize, totalSize } = page;
  if (!Array.isArray(list)) {
    throw new LedgerError('service-malformed', 'a page without a list');
  }
  return {
    rows: list,
    pageNo: integerIn(pageNo, 0, Number.MAX_SAFE_INTEGER),
    pageSize: integerIn(pageSize, 1, Number.MAX_SAFE_INTEGER),
    totalSize: integerIn(totalSize, 0, Number.MAX_SAFE_INTEGER),
  };
}

/** Reads data that is one object; throws service-malformed for anything else. */
export function openObject(data: unknown): Record<string, unknown> {
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) {
    return data as Record<string, unknown>;
  }
  throw new LedgerError('service-malformed', 'an answer whose data is no object');
}

/** Reads data that is a list; throws service-malformed for anything else. */
export function openList(data: unknown): unknown[] {
  if (Array.isArray(data)) return data;
  throw new LedgerError('service-malformed', 'an answer whose data is no list');
}
