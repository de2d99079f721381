import fc from 'fast-check';
import { expect, test } from 'vitest';
import '../support/fixed-seed.ts';
import {
  beancountAccounts,
  beancountCommodity,
  beancountString,
  journalAccount,
  journalCommodity,
  journalText,
} from '../../src/export/book-names.ts';
import { csvText } from '../../src/export/write-csv.ts';
import { hostileText } from '../support/transaction-rows.ts';

const chart = new Map([
  ['custody', 'assets:custody'],
  ['customers', 'liabilities:customers'],
  ['withdrawn', 'equity:withdrawn'],
  ['fees', 'Gebühren'],
]);
const beancountAccount = beancountAccounts(chart);
const customer = (reference: string) => `liabilities:customers:${reference}`;
const rules = {
  journalAccount,
  journalCommodity,
  journalText,
  beancountCommodity,
  beancountString,
  beancountAccount: (reference: string) => beancountAccount(customer(reference)),
  csvText,
};
const nearby = fc.constantFrom(
  'a',
  'A',
  'a b',
  'a  b',
  ' a',
  'a:b',
  'a%20b',
  "'=a",
  '=a',
  'a-b',
  '1',
  'BTC',
  'X',
  'TRUE',
);
const anyName = fc.oneof(hostileText, nearby, fc.string({ minLength: 1 }));

test.each(Object.entries(rules))('%s: two different names stay different', (_, rule) => {
  fc.assert(
    fc.property(anyName, anyName, (one, other) => {
      if (one !== other) expect(rule(one)).not.toBe(rule(other));
    }),
    { numRuns: 3_000 },
  );
});

test('names fit the grammar of their format, whatever they are', () => {
  fc.assert(
    fc.property(anyName, (name) => {
      expect(journalAccount(name)).toMatch(/^[^\s;()[\]*!"](?:[^\s;]| (?! ))*(?<! )$/u);
      expect(journalCommodity(name)).toMatch(/^(?:[A-Z]{2,}|"[^";\\\n\r\p{Cc}]+")$/u);
      expect(beancountCommodity(name)).toMatch(/^[A-Z][A-Z0-9'._-]{0,22}[A-Z0-9]$/);
      expect(beancountAccount(name)).toMatch(
        /^(?:Assets|Liabilities|Equity|Income|Expenses)(?::[A-Z0-9][A-Za-z0-9-]*)+$/,
      );
      expect(beancountString(name)).toMatch(/^"(?:[^"\\\p{Cc}]|\\["\\n])*"$/u);
      expect(csvText(name)).toMatch(/^(?![=+\-@\t\r])(?:[^",\r\n]*|"(?:[^"]|"")*")$/);
    }),
    { numRuns: 3_000 },
  );
});

test('plain names stay as they are', () => {
  expect(journalAccount('liabilities:customers:Ünal Özgür 42')).toBe(
    'liabilities:customers:Ünal Özgür 42',
  );
  expect([journalCommodity('USDT'), journalCommodity('1INCH')]).toEqual(['USDT', '"1INCH"']);
  expect(beancountAccount('assets:custody')).toBe('Assets:Custody');
  expect(beancountAccount(customer('C-42'))).toBe('Liabilities:Customers:C-42');
  expect(beancountAccount(customer('alice'))).toMatch(
    /^Liabilities:Customers:X-alice-[0-9a-f]{12}$/,
  );
  expect(beancountAccount('Gebühren')).toMatch(/^Expenses:X-Gebhren-[0-9a-f]{12}$/);
  expect(beancountCommodity('1INCH')).toMatch(/^X1INCH\.[0-9A-F]{12}$/);
  expect([csvText('-1'), csvText('a "b", c')]).toEqual(["'-1", '"a ""b"", c"']);
});
