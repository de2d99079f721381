import type { Lies } from './oracle-types.ts';

/** A list at one moment: its number of rows, oldest first, and the JSON of one of them. */
type ShownList = { total: number; item(index: number): string };

export type PageQuestion = ShownList & {
  page: number;
  size: number;
  newestFirst: boolean;
  /** Number of rows from which the total is derived, instead of the rows of the list. */
  claimedTotal?: number;
  /** The list as it was before its last `count` entries, which may be anywhere in it. Default: they are at its end. */
  before?(count: number): ShownList;
  /** Items of another list. */
  guests?: string[];
};

export type PageAnswer = { json: string; lies: string[]; isLast: boolean };

/** Few, so that a stale page is never older than seconds. */
const staleRowsMax = 20;
const totalCap = 1_000;

/** One page of a list (document, 2.2), with the false content drawn for it. */
export function pageJson(
  question: PageQuestion,
  lies: Lies,
  isHit: (rate: number) => boolean,
): PageAnswer {
  const told: string[] = [];
  const lie = (name: keyof Lies) => {
    if (!isHit(lies[name])) return false;
    told.push(name);
    return true;
  };
  const size = lie('clampPage') ? Math.max(1, Math.ceil(question.size / 2)) : question.size;
  const list = lie('stalePage')
    ? staleList(question, Math.min(question.total, 1 + (question.page % staleRowsMax)))
    : question;
  const { total } = list;
  const pages = Math.max(1, Math.ceil(total / size));
  const isBeyond = question.page > pages;
  const boundary = isBeyond && lie('boundaryPage') ? question.page % 3 : null;
  const shownPage = boundary === 0 ? pages : question.page;
  const items = itemsOf({ ...question, ...list, page: shownPage, size });
  if (items.length > 1 && lie('duplicateInPage')) items[1] = items[0] ?? '';
  if (question.guests?.length && lie('otherListsRow')) items.push(...question.guests);
  if (items.length > 2 && lie('shortPage')) items.splice(items.length >> 1);
  if (items.length > 2 && lie('spoiltPage')) items[items.length >> 1] = '{"orderNo": NaN';
  const claimed = total < question.total ? total : (question.claimedTotal ?? total);
  const ahead = lie('aheadTotal') ? 1 + (question.page % 3) : 0;
  const saidTotal = lie('cappedTotal') ? Math.min(totalCap, claimed) : claimed + ahead;
  const fields = [
    `"pageNo":${question.page}`,
    `"pageSize":${size}`,
    ...(lie('wrongTotal') ? wrongTotals(total, question.page) : [`"totalSize":${saidTotal}`]),
    `"totalPages":${pages}`,
    ...(boundary === 2 ? [] : [`"list":${boundary === 1 ? 'null' : `[${items.join(',')}]`}`]),
    `"prevPage":${Math.max(1, question.page - 1)}`,
    `"nextPage":${Math.min(pages, question.page + 1)}`,
  ];
  return { json: `{${fields.join(',')}}`, lies: told, isLast: question.page >= pages };
}

function staleList({ total, item, before }: PageQuestion, count: number): ShownList {
  return before ? before(count) : { total: total - count, item };
}

function itemsOf({ page, size, total, item, newestFirst }: PageQuestion): string[] {
  const items: string[] = [];
  const from = (page - 1) * size;
  for (let place = from; place < Math.min(total, from + size); place += 1) {
    items.push(item(newestFirst ? total - 1 - place : place));
  }
  return items;
}

function wrongTotals(total: number, page: number): string[] {
  const wrong = [
    [`"totalSize":${total + 7}`],
    [`"totalSize":${Math.max(0, total - 3)}`],
    ['"totalSize":"many"'],
    ['"totalSize":null'],
    [],
  ];
  return wrong[page % wrong.length] ?? [];
}
