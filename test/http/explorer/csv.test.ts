import { expect, test } from 'vitest';
import { toCsv } from '../../../src/http/explorer/csv.ts';

test('no value begins a formula, in any form that a spreadsheet takes; numbers stay numbers', () => {
  const formulas = [
    '=1',
    '+1+1',
    '-1-1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    '＝1',
    '＋1',
    '－1',
    '＠A1',
    "'=1",
  ];
  const cells = toCsv(
    ['value'],
    formulas.map((each) => [each]),
  )
    .split('\r\n')
    .slice(1, -1);
  expect(cells).toEqual(formulas.map((each) => `"'${each}"`));
  expect(toCsv(['a', 'b', 'c'], [['-1.5', 'a=1', null]])).toBe('"a","b","c"\r\n"-1.5","a=1",\r\n');
});
