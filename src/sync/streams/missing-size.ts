import type { Page } from '../../kernel/wallet-records.ts';
import type { ListSource } from '../list/list-source.ts';

/** Requested size, and the number of rows per page that an earlier pass has learned for it; null: none. */
export type LearnedSize = { requested: number; learned: number | null };

/**
 * Returns the source with a page size for answers that name none.
 *
 * The number of rows on a page is not its size: the last page has fewer. With a total the size is the requested one, or
 * that of the largest page if the service serves more. A service that serves fewer rows is detected by a short page 1,
 * like one that repeats the requested size. Without a total, or with one that may count only the rows of its page,
 * nothing shows that page 1 is short. Its number of rows then counts as the size, and a later page never lowers it. An
 * empty page changes no size.
 */
export function withMissingSizes<T>(
  source: ListSource<T>,
  { requested, learned }: LearnedSize,
): ListSource<T> {
  // Sizes by requested size, because parts of a divided page are smaller.
  const sizes = new Map<number, number>();
  if (learned !== null) sizes.set(requested, learned);
  return {
    ...source,
    async readPage(pageNo, asked, ...rest) {
      const page = await source.readPage(pageNo, asked, ...rest);
      if (page.isSizeMissing !== true) {
        // An empty page, as after the end, says nothing about the size.
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
  // A total may be the number of rows on its page; only the next page shows that.
  const isOwnTotal = totalSize === listed;
  if (totalSize !== null && !isOwnTotal) return Math.max(asked, listed, known ?? 0);
  return pageNo === 1 ? listed : Math.max(listed, known ?? 0);
}
