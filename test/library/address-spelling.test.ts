import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressKey } from '../../src/library/address-spelling.ts';
import { forAll } from '../support/for-all.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger();

test('the library and the ledger see one address in the same spellings', async () => {
  const texts = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEFx:qQ zZ') }),
    fc.constantFrom(
      'bitcoincash:qpm2',
      ' BCHTEST:QPM2',
      'ecash:0xAb',
      '0X12',
      'TJCnKs:1',
      '0xAb\n',
    ),
  );
  await forAll(fc.array(texts, { minLength: 1, maxLength: 50 }))(40, async (given) => {
    const { rows } = await ledger.pool.query<{ key: string }>(
      'select ledger.address_key(a) as key from unnest($1::text[]) with ordinality as i (a, n) order by n',
      [given],
    );
    expect(given.map(addressKey)).toEqual(rows.map(({ key }) => key));
  });
});
