import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderLimitsDoc } from '../../scripts/render-limits-doc.ts';
import { decodeTransactions } from '../../src/service/decoding/decode-transaction.ts';
import { openEnvelope } from '../../src/service/decoding/open-envelope.ts';
import { openList, openPage } from '../../src/service/decoding/open-page.ts';
import { openSnapshotPart, readSnapshot } from '../../src/service/decoding/read-snapshot.ts';
import { limits } from '../../src/service/limits.ts';
import { ReadResponse } from '../../src/service/transport/pooled-fetch.ts';
import { forAll } from '../support/for-all.ts';

const path = '/v1/wallet/balance';

/** An endless service with this number of rows and characters per page, and this delay. */
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
        problem: expect.stringContaining('more than 120000 values'),
      });
    },
  );

  it.each(['":', '" :', '"\n\t :'])(
    'of many fields with different names is refused before it is parsed, with %j behind each',
    (end) => {
      const fields = (count: number) =>
        Array.from({ length: count }, (_, nth) => `"name-${nth}${end}1`).join(',');
      const { max } = limits.answerNames;
      const problem = `an answer of more than ${max} different names`;
      const open = (list: string) => openEnvelope(`{"code":0,"data":[${list}]}`, true);
      expect(open(`{${fields(max + 1)},"long":"${'x'.repeat(120_000)}"}`)).toEqual({ problem });
      const [half, same] = [
        fields(max / 2),
        Array(11)
          .fill(`{${fields(1_000)}}`)
          .join(','),
      ];
      expect(open(`{${half},"time":"12:${':'.repeat(120_000)}"},${same}`)).toMatchObject({
        code: '0',
      });
    },
  );

  it('of many numbers with a decimal point is refused before it is parsed', () => {
    const body = `{"code":0,"data":[${'1.5,'.repeat(60_000)}0],"msg":""}`;
    expect(openEnvelope(body, true)).toEqual({ problem: 'an answer of more than 50000 values' });
  });

  it('of more than one MiB that has a number of many digits is refused before it is parsed', () => {
    const long = 'x'.repeat(limits.exactLength.max);
    const problem = `an answer of more than ${limits.exactLength.max} characters outside of long numbers`;
    for (const data of [`[1.5,"${long}"]`, `[NaN,"${long}"]`])
      expect(openEnvelope(`{"code":0,"data":${data},"msg":"1.5"}`, true)).toHaveProperty('problem');
    expect(openEnvelope(`{"code":0,"data":[1.5,"${long}"]}`, true)).toEqual({ problem });
    expect(openEnvelope(`{"code":0,"data":["${long}"]}`, true)).toMatchObject({ code: '0' });
  });

  it('leaves a limited number of rejects, with a limited number of characters of their rows', () => {
    const now = Date.UTC(2026, 0, 1);
    // Amount and time are missing.
    const rows = Array.from({ length: limits.answerRejects.max / 2 }, () => ({ orderNo: 'o' }));
    expect(decodeTransactions(rows, now).rejects).toHaveLength(limits.answerRejects.max);
    const tooMany = `more than ${limits.answerRejects.max} rejects`;
    expect(() => decodeTransactions([...rows, null], now)).toThrow(tooMany);
    const wide = { orderNo: 'o', more: 'x'.repeat(limits.payloadBytes.max) };
    const fitting = limits.rejectsLength.max / limits.payloadBytes.max / 2;
    const wides = Array.from({ length: fitting }, () => wide);
    expect(decodeTransactions(wides, now).rejects).toHaveLength(2 * fitting);
    const tooLong = `more than ${limits.rejectsLength.max} characters`;
    expect(() => decodeTransactions([...wides, null], now)).toThrow(tooLong);
  });

  it('of the largest size that is not valid UTF-8 is read', async () => {
    const bytes = Buffer.alloc(limits.answerBytes.max, 0xff);
    const text = await new ReadResponse(bytes, 200, {}, true).text();
    expect([text.length, new Set(text).size, text[0]]).toEqual([bytes.length, 1, '\uDFFF']);
  });

  it('with the maximum number of rows is parsed', () => {
    const row = JSON.stringify(Object.fromEntries([...'abcdefghij'].map((name) => [name, 1])));
    const body = `{"code":0,"data":[${Array(limits.answerRows.max).fill(row).join(',')}],"msg":""}`;
    expect(openEnvelope(body)).toMatchObject({ code: '0' });
  });
});

describe('a snapshot', () => {
  it('without an end stops at the first of its limits, with an error that names the limit', async () => {
    const page = fc.record({
      rows: fc.integer({ min: 1, max: limits.answerRows.max }),
      length: fc.integer({ min: 0, max: limits.answerBytes.max }),
      ms: fc.integer({ min: 0, max: 300_000 }),
    });
    await forAll(page)(30, async (size) => {
      const { read, pages } = endless(size);
      await expect(read).rejects.toMatchObject({
        code: 'service-malformed',
        message: expect.stringMatching(/a snapshot of more than \d+ (rows|characters|pages|ms)$/),
      });
      expect((pages() - 1) * size.rows).toBeLessThanOrEqual(limits.snapshotRows.max);
      expect((pages() - 1) * size.length).toBeLessThanOrEqual(limits.snapshotLength.max);
      expect(pages() - 1).toBeLessThanOrEqual(limits.snapshotPages.max);
    });
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

it('docs/limits.md equals the table of limits', () => {
  expect(readFileSync('docs/limits.md', 'utf8')).toBe(renderLimitsDoc());
});
