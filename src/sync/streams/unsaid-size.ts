import type { Page } from '../../kernel/wallet-records.ts';
import type { ListSource } from '../list/list-source.ts';

/** Size that was requested, and the rows per page that an earlier pass has learned for it; null: none. */
export type LearnedSize = { requested: number; learned: number | null };

/**
 * Returns the source with a page size for answers that name none.
 *
 * The rows of a page are no size: the last page has fewer. With a total the size is the requested one, or the largest
 * page if the service serves more; a service that serves fewer is found out by a short page 1, as one that claims the
 * requested size. Without a total, or with one that may count the rows of its page alone, nothing shows that page 1
 * is short, so its rows count as its size, and a later page never lowers it. An empty page changes no size.
 */
export function withUnsaidSizes<T>(
  source: ListSource<T>,
  { requested, learned }: LearnedSize,
): ListSource<T> {
  // By requested size: parts of a divided page are smaller.
  const sizes = new Map<number, number>();
  if (learned !== null) sizes.set(requested, learned);
  return {
    ...source,
    async readPage(pageNo, asked, ...rest) {
      const page = await source.readPage(pageNo, asked, ...rest);
      if (page.isSizeUnsaid !== true) {
        // The page behind the end may name none.
        if (page.listed > 0) sizes.set(asked, page.pageSize);
        return page;
      }
      const known = sizes.get(asked) ?? null;
      const size = sizeOf(page, { pageNo, asked, known });
      if (page.listed > 0) sizes.set(asked, size);
      return { ...page, pageSize: size };
    },
  };
}

type Asked = { pageNo: number; asked: number; known: number | null };

function sizeOf({ listed, totalSize }: Page<unknown>, { pageNo, asked, known }: Asked): number {
  if (listed === 0) return known ?? asked;
  // A total may be the number of the rows on its page: only the page behind shows that.
  const isOwnTotal = totalSize === listed;
  if (totalSize !== null && !isOwnTotal) return Math.max(asked, listed, known ?? 0);
  return pageNo === 1 ? listed : Math.max(listed, known ?? 0);
}
