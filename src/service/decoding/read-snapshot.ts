import type { Clock } from '../../kernel/clock.ts';
import { LedgerError } from '../../kernel/errors.ts';
import { limits } from '../limits.ts';
import { payloadText } from './json-text.ts';
import { isEmptyForm, openList, openPage, type RawPage } from './open-page.ts';
import { OddAnswer } from './unreadable-answer.ts';

/** Data of a snapshot: all rows at once, as documented, or one page of them. */
export type SnapshotPart = RawPage & { observation: number; isWhole: boolean; length: number };

const whole = { pageNo: null, pageSize: null, totalSize: null, isWhole: true };

/**
 * Reads either form of a snapshot's data, `length` characters long; throws service-malformed for anything else. Null,
 * {} or "" may stand for an empty list or be a fault, so it is service-malformed with an OddAnswer as cause, unless
 * `isLenient`.
 */
export function openSnapshotPart(
  data: unknown,
  observation: number,
  length: number,
  isLenient = false,
): SnapshotPart {
  if (Array.isArray(data)) return { rows: openList(data), ...whole, observation, length };
  if (!isEmptyForm(data)) return { ...openPage(data), observation, isWhole: false, length };
  if (isLenient) return { rows: [], ...whole, isListless: true, observation, length };
  const message = 'an answer whose data is not a list';
  throw new LedgerError('service-malformed', message, { cause: new OddAnswer(message) });
}

/**
 * Reads all rows of a snapshot. Returns the observation of the first request, because later pages are at least as new.
 * An answer without page fields whose second page has the same assets holds all rows. Throws service-parameters if the
 * next page is not the requested one. Throws service-malformed if the pages end before the promised total, because
 * missing rows would look deleted, or if they exceed the limits.
 */
export async function readSnapshot(
  path: string,
  fetchPart: (page?: { pageNo: number; pageSize: number }) => Promise<SnapshotPart>,
  clock: Clock,
): Promise<{ rows: unknown[]; observation: number; isListless: boolean }> {
  const startedAt = clock();
  let part = await fetchPart();
  let length = part.length;
  const { observation, isListless = false } = part;
  const pageSize = part.pageSize ?? part.rows.length;
  const rows = [...part.rows];
  for (let pageNo = 2; !part.isWhole && !isEnd(path, part, rows.length, pageSize); pageNo += 1) {
    const next = await fetchPart({ pageNo, pageSize });
    if (pageNo === 2 && isWholeAgain(part, next)) break;
    assertProgress(path, part, next, pageNo);
    length += next.length;
    assertWithin(path, 'snapshotPages', pageNo);
    assertWithin(path, 'snapshotRows', rows.length + next.rows.length);
    assertWithin(path, 'snapshotLength', length);
    assertWithin(path, 'snapshotMs', clock() - startedAt);
    for (const row of next.rows) rows.push(row);
    part = next;
  }
  return { rows, observation, isListless };
}

function isEnd(path: string, part: SnapshotPart, rowsRead: number, pageSize: number): boolean {
  if (part.totalSize === null) return part.rows.length === 0 || part.rows.length < pageSize;
  if (rowsRead >= part.totalSize) return true;
  if (part.rows.length > 0) return false;
  const message = `GET ${path}: pages that end after ${rowsRead} of ${part.totalSize} rows`;
  throw new LedgerError('service-malformed', message);
}

/**
 * Returns true if a list without any page field has come again in place of its second page, perhaps with newer values:
 * the endpoint documents no parameters, so each of its answers holds all rows.
 */
function isWholeAgain(part: SnapshotPart, next: SnapshotPart): boolean {
  const hasFields = !hasNoPageFields(part) || !hasNoPageFields(next);
  return !hasFields && payloadText(part.rows.map(assetOf)) === payloadText(next.rows.map(assetOf));
}

/** Returns the fields that name the asset of a row; the row itself if it is no object. */
function assetOf(row: unknown): unknown {
  if (typeof row !== 'object' || row === null) return row;
  const { symbol, slip44, contractAddress } = row as Record<string, unknown>;
  return { symbol, slip44, contractAddress };
}

function hasNoPageFields({ isWhole, pageNo, pageSize, totalSize }: SnapshotPart): boolean {
  return !isWhole && pageNo === null && pageSize === null && totalSize === null;
}

function assertProgress(
  path: string,
  part: SnapshotPart,
  next: SnapshotPart,
  pageNo: number,
): void {
  const isOtherPage = next.pageNo !== null && next.pageNo !== pageNo;
  const isSamePage = next.rows.length > 0 && payloadText(next.rows) === payloadText(part.rows);
  if (next.isWhole || isOtherPage || isSamePage) {
    throw new LedgerError(
      'service-parameters',
      `GET ${path}: page ${pageNo} was requested, another page came repeatedly`,
    );
  }
}

function assertWithin(
  path: string,
  name: 'snapshotPages' | 'snapshotRows' | 'snapshotLength' | 'snapshotMs',
  amount: number,
): void {
  const { max, unit } = limits[name];
  if (amount <= max) return;
  throw new LedgerError('service-malformed', `GET ${path}: a snapshot of more than ${max} ${unit}`);
}
