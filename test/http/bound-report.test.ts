import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundReport } from '../../src/status/bound-report.ts';
import { forAllSync } from '../support/for-all.ts';
import { sampleReport } from '../support/sample-report.ts';

const balance = { wallet: 'main', symbol: 'A', chain: 'a', balance: '1', frozen: '0', history: [] };

test('no text and no list of a report is longer than the bound', () => {
  const texts = fc.string({ unit: 'grapheme', maxLength: 2_000 });
  forAllSync(texts, fc.nat(1_200))(50, (text, count) => {
    const balances = Array.from({ length: count }, () => ({ ...balance, symbol: text }));
    const bounded = boundReport(sampleReport({ balances, balanceCount: count }));
    expect(bounded.balances).toHaveLength(Math.min(count, 500));
    expect(bounded.leftOut?.balances).toBe(Math.max(0, count - 500));
    const [shown] = bounded.balances;
    if (shown) expect(shown.symbol.length).toBeLessThanOrEqual(500);
    if (shown && text.length <= 500) expect(shown.symbol).toBe(text);
  });
});

test('a number too long to show is rounded, and stays a number', () => {
  const differences = ['-123456', '9'].map((digits) => ({
    wallet: 'main',
    symbol: 'A',
    amount: `${digits}${'0'.repeat(130_000)}.5`,
    since: '2026-03-01T11:00:00Z',
  }));
  const { unexplainedDifferences } = boundReport(
    sampleReport({ unexplainedDifferences: differences }),
  );
  expect(unexplainedDifferences.map(({ amount }) => amount)).toEqual([
    '-1.23456000000000000000e+130005',
    '9.00000000000000000000e+130000',
  ]);
});
