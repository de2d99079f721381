import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderLimitsDoc } from '../../scripts/render-limits-doc.ts';
import { limits } from '../../src/service/limits.ts';
import { openEnvelope } from '../../src/service/open-envelope.ts';
import { openList, openPage } from '../../src/service/open-page.ts';
import { openSnapshotPart, readSnapshot } from '../../src/service/read-snapshot.ts';

const path = '/v1/wallet/balance';

/** A service whose every page has so many rows and characters and takes so long, and which never ends. */
function endless(page: { rows: number; length: number; ms: number }) {
  let [now, pages] = [0, 0];
  const read = readSnapshot(
    path,
    async () => {
      now += page.ms;
      pages += 1;
      const list = Array.from({ length: page.rows }, (_, nth) => `${pages}-${nth}`);
      const data = { list, pageNo: pages, pageSize: page.rows, totalSize: null };
      return openSnapshotPart(data, 1, page.length);
    },
    () => now,
  );
  return { read, pages: () => pages };
}

describe('an answer', () => {
  it.each(['{},', '[],', '0,', '"",'])(
    'of millions of %s is refused before it is parsed',
    (value) => {
      const body = `{"code":0,"data":[${value.repeat(2_000_000)}0],"msg":""}`;
      expect(openEnvelope(body, true)).toEqual({
        problem: expect.stringContaining('more than 600000 values'),
      });
    },
  );

  it('of hundreds of thousands of long numbers is refused before it is parsed', () => {
    const body = `{"code":0,"data":[${'1.10000000000000000001,'.repeat(200_000)}0],"msg":""}`;
    expect(openEnvelope(body, true)).toEqual({ problem: 'an answer of more than 150000 values' });
  });

  it('with the most rows that are taken is parsed', () => {
    const row = JSON.stringify(Object.fromEntries([...'abcdefghij'].map((name) => [name, 1])));
    const body = `{"code":0,"data":[${Array(limits.answerRows.max).fill(row).join(',')}],"msg":""}`;
    expect(openEnvelope(body)).toMatchObject({ code: '0' });
  });
});

describe('a snapshot', () => {
  it('that never ends stops at the first of its limits, with an error that names it', async () => {
    const page = fc.record({
      rows: fc.integer({ min: 1, max: 20_000 }),
      length: fc.integer({ min: 0, max: limits.answerBytes.max }),
      ms: fc.integer({ min: 0, max: 300_000 }),
    });
    await fc.assert(
      fc.asyncProperty(page, async (size) => {
        const { read, pages } = endless(size);
        await expect(read).rejects.toMatchObject({
          code: 'service-malformed',
          message: expect.stringMatching(/a snapshot of more than \d+ (rows|characters|pages|ms)$/),
        });
        expect((pages() - 1) * size.rows).toBeLessThanOrEqual(limits.snapshotRows.max);
        expect((pages() - 1) * size.length).toBeLessThanOrEqual(limits.snapshotLength.max);
        expect(pages() - 1).toBeLessThanOrEqual(limits.snapshotPages.max);
      }),
      { numRuns: 30 },
    );
  });
});

describe('an answer', () => {
  it('of more rows than the limit is refused, in each of its forms', () => {
    const rows = Array.from({ length: limits.answerRows.max }, () => 1);
    const readers = [openList, (data: unknown[]) => openSnapshotPart(data, 1, 0).rows];
    for (const read of [...readers, (list: unknown[]) => openPage({ list }).rows]) {
      expect(read(rows)).toHaveLength(rows.length);
      expect(() => read([...rows, 1])).toThrow(`more than ${limits.answerRows.max} rows`);
    }
  });
});

it('docs/limits.md is what the table of limits says', () => {
  expect(readFileSync('docs/limits.md', 'utf8')).toBe(renderLimitsDoc());
});
