import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forAll } from '../support/for-all.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger();

async function keysOf(addresses: string[]): Promise<string[]> {
  const { rows } = await ledger.pool.query(
    'select ledger.address_key(a) as key from unnest($1::text[]) with ordinality as i (a, n) order by n',
    [addresses],
  );
  return rows.map(({ key }) => key);
}

const bech32 = 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq';
const cashaddr = 'qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a';
const base58 = 'TJCnKsPa7y5okkXvQAidZBzqx3QyQ6sxMW';
const evm = '0x52908400098527886E0F7030069857D2E4169EE7';

test.each([
  [
    'hexadecimal digits of any case, with 0x or without',
    [evm, evm.toLowerCase(), `0X${evm.slice(2)}`, evm.slice(2), ` ${evm}\n`],
  ],
  ['bech32 in either case', [bech32, bech32.toUpperCase()]],
  [
    'cashaddr with its prefix or without',
    [
      cashaddr,
      `bitcoincash:${cashaddr}`,
      `BITCOINCASH:${cashaddr.toUpperCase()}`,
      cashaddr.toUpperCase(),
    ],
  ],
  [
    'base32',
    [
      'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ',
      'ga7qynf7sowq3glr2bgmzehxavirza4kvwltjjfc7mgxua74p7ujvsgz',
    ],
  ],
])('%s is one address', async (_what, spellings) => {
  expect(new Set(await keysOf(spellings)).size).toBe(1);
});

test('base58 is case-sensitive, a tag after a colon is part of the address, and chains are separate', async () => {
  const different = [
    base58,
    base58.replace('JC', 'jC'),
    `${base58}:1`,
    `${base58}:2`,
    evm,
    bech32,
    cashaddr,
  ];
  expect(new Set(await keysOf(different)).size).toBe(different.length);
  expect(await keysOf([base58])).toEqual([base58]);
});

test('the key of a key is itself, and the case of a hexadecimal text is ignored', async () => {
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
    fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEFx:TZ') }),
  );
  await forAll(fc.array(texts, { minLength: 1, maxLength: 50 }))(60, async (given) => {
    const clean = given.filter((text) => text.isWellFormed());
    const keys = await keysOf(clean);
    expect(await keysOf(keys)).toEqual(keys);
    const hex = clean.filter((text) => /^(0[xX])?[0-9a-fA-F]+$/.test(text));
    expect(await keysOf(hex.map((text) => text.toUpperCase()))).toEqual(await keysOf(hex));
  });
});
