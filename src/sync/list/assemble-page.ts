import type { LedgerError } from '../../kernel/errors.ts';
import type { Page, Reject } from '../../kernel/wallet-records.ts';
import { UnreadableAnswer } from '../../service/decoding/unreadable-answer.ts';
import type { ListSource } from './list-source.ts';

/** Rows of a page that was read in parts; `place` counts from 0 at the list's first row. */
export type ReadPart<T> = { place: number; content: Page<T> };
export type BadRow = { place: number; failure: LedgerError };
/** A row of the page with its place, by which a later answer is recognised. */
export type Anchor = { place: number; key: string };

/** A page in parts, in the order of their places. */
type Divided<T> = {
  source: ListSource<T>;
  page: number;
  size: number;
  read: ReadPart<T>[];
  bad: BadRow[];
};

/** Returns the text of the row; null if the answer does not contain it. */
export function rowTextOf({ cause }: LedgerError): string | null {
  return cause instanceof UnreadableAnswer ? cause.rowsText() : null;
}

/**
 * Assembles one page from its parts. Its observation is the lowest of the parts, so that nothing in it overwrites a
 * later answer. Its total is the lowest as well, which shows rows that were removed during the division.
 */
export function assemblePage<T>(divided: Divided<T>): Page<T> {
  const { read, bad, page, size } = divided;
  const contents = read.map(({ content }) => content);
  const totals = contents.flatMap(({ totalSize }) => totalSize ?? []);
  return {
    observation: Math.min(...contents.map(({ observation }) => observation)),
    pageNo: page,
    pageSize: size,
    totalSize: totals.length > 0 ? Math.min(...totals) : null,
    listed: contents.reduce((rows, { listed }) => rows + listed, bad.length),
    records: contents.flatMap(({ records }) => records),
    rejects: [
      ...contents.flatMap(({ rejects }) => rejects),
      ...bad.map((row) => rejectOf(divided, row)),
    ],
  };
}

/** Builds a reject that does not depend on the row's place, because new rows move it from place to place. */
function rejectOf<T>(divided: Divided<T>, { place, failure }: BadRow): Reject {
  return {
    source: divided.source.rejectSource,
    orderNo: null,
    field: null,
    reason: reasonOf(failure),
    payload: rowTextOf(failure) ?? JSON.stringify(neighbourOf(divided, place)),
  };
}

function reasonOf({ code, isAnswered }: LedgerError): string {
  if (isAnswered) return 'the service fails to answer a page with this row alone';
  return code === 'service-malformed'
    ? 'the answer with this row alone cannot be read'
    : 'the service refuses a page with this row alone';
}

function neighbourOf<T>({ read, source }: Divided<T>, place: number): object {
  const behind = read.find((part) => part.place > place)?.content.records[0];
  if (behind !== undefined) return { rowBefore: source.keyOf(behind) };
  const ahead = read.findLast((part) => part.place < place)?.content.records.at(-1);
  return ahead === undefined ? {} : { rowAfter: source.keyOf(ahead) };
}

/** Returns the first row of a part whose rows all have a usable key; null if no part qualifies. */
export function anchorOf<T>({ read, source }: Divided<T>): Anchor | null {
  const part = read.find(({ content }) => content.listed === content.records.length);
  const record = part?.content.records[0];
  return part && record !== undefined ? { place: part.place, key: source.keyOf(record) } : null;
}
