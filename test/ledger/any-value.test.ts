import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { arrayParam } from '../../src/ledger/connection/unnest-rows.ts';
import { readAmount, Unreadable } from '../../src/service/decoding/field-readers.ts';
import { extraText } from '../../src/service/decoding/json-text.ts';
import { isStorableText, toStorableText } from '../../src/service/decoding/storable-text.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger({ isMigrated: false });
const seed = 20_260_101;

const digits = (max: number) => fc.stringMatching(new RegExp(`^\\d{1,${max}}$`));
const decimals = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(60),
    fc.option(digits(40)),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), fc.nat(400))),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : exponent.join('')}`,
  );

/** The decimal without exponent and superfluous zeros, by moving its point, without conversion to a number. */
function plain(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const shift = Number(exponent);
  const padded =
    '0'.repeat(Math.max(0, -shift)) + whole + fraction + '0'.repeat(Math.max(0, shift));
  const point = Math.max(0, -shift) + whole.length + shift;
  const before = padded.slice(0, point).replace(/^0+(?=\d)/, '') || '0';
  const after = padded.slice(point).replace(/0+$/, '');
  const value = after === '' ? before : `${before}.${after}`;
  return value === '0' ? '0' : sign + value;
}

test('[V3 V4 V5] 20,000 decimals of any form come back from PostgreSQL with their exact value', async () => {
  const texts = fc.sample(decimals, { numRuns: 20_000, seed });
  expect(texts.filter((text) => readAmount(text, 0) instanceof Unreadable)).toEqual([]);
  const { rows } = await ledger.pool.query<{ stored: string }>(
    'select n::numeric::text as stored from unnest($1::text[]) with ordinality as i (n, nth) order by nth',
    [texts],
  );
  const stored = rows.map((row) => plain(row.stored));
  expect(stored).toEqual(texts.map(plain));
});

const odd = fc.string({
  unit: fc.oneof(
    fc.nat(0xffff).map((code) => String.fromCharCode(code)),
    fc.constantFrom('\0', '\ud83d', '\ude00', '\ud83d\ude00', '\\u0000', '\\', '"', '\u202e'),
  ),
  maxLength: 30,
});

test('[V8 V9] any text becomes one that PostgreSQL stores exactly; valid text is not changed', async () => {
  const given = fc.sample(odd, { numRuns: 5_000, seed });
  const texts = given.map(toStorableText);
  expect(texts.filter((text) => !isStorableText(text))).toEqual([]);
  expect(texts.map(toStorableText)).toEqual(texts);
  expect(given.filter(isStorableText)).toEqual(
    given.filter((text) => toStorableText(text) === text),
  );
  const { rows } = await ledger.pool.query<{ text: string; json: string }>(
    `select t as text, to_jsonb(t) #>> '{}' as json from unnest($1::text[]) with ordinality as i (t, nth) order by nth`,
    [texts],
  );
  expect(rows.map((row) => row.text)).toEqual(texts);
  expect(rows.map((row) => row.json)).toEqual(texts);
});

test('any text passes unchanged through a column of a batch, including words with a meaning in arrays', async () => {
  const words = [
    '',
    ' ',
    'null',
    'NULL',
    'Null',
    'nullable',
    '{}',
    '{a}',
    'a,b',
    'a b',
    '"',
    '\\',
    'a\tb',
    '1e5',
    '-0',
  ];
  const texts = [...words, ...fc.sample(odd, { numRuns: 5_000, seed }).map(toStorableText)];
  const rows: (string | null)[] = [...texts, null];
  const { rows: stored } = await ledger.db.execute<{ text: string | null }>(
    sql`select t as text from unnest(${arrayParam(rows, (row) => row)}::text[]) with ordinality as i (t, nth) order by nth`,
  );
  expect(stored.map(({ text }) => text)).toEqual(rows);
});

test('[V8 V9 V12] undocumented fields of any kind become one valid jsonb object of at most 16 KiB', async () => {
  const fields = fc.dictionary(
    fc.oneof(odd, fc.constant('__proto__')),
    fc.oneof(
      fc.jsonValue(),
      odd,
      odd.map((text) => text.repeat(2_000)),
    ),
  );
  const texts = fc
    .sample(fields, { numRuns: 2_000, seed })
    .map((one) => extraText(one) ?? 'missing');
  expect(texts.filter((text) => Buffer.byteLength(text) > 16 * 1024)).toEqual([]);
  const { rows } = await ledger.pool.query<{ type: string }>(
    'select jsonb_typeof(t::jsonb) as type from unnest($1::text[]) as t',
    [texts],
  );
  expect(rows).toHaveLength(texts.length);
  expect(new Set(rows.map((row) => row.type))).toEqual(new Set(['object']));
});
