import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chainForms } from '../../src/kernel/address-form/chain-forms.ts';
import { judgeAddresses } from '../../src/kernel/address-form/judge-addresses.ts';
import { spelledAddress } from '../support/address-spellings.ts';
import { forAll } from '../support/for-all.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger();

async function keysOf(addresses: string[]): Promise<string[]> {
  const { rows } = await ledger.pool.query<{ key: string }>(
    'select ledger.address_key(a) as key from unnest($1::text[]) with ordinality as i (a, n) order by n',
    [addresses],
  );
  return rows.map(({ key }) => key);
}

/** Services never write these, but people may. */
const isServed = (text: string) => !/^0x41|^0X|^-1:|^BITCOINCASH:|^BCH/.test(text);

test('all spellings of an address on a chain have one key, and different addresses have different keys', async () => {
  await forAll(fc.array(spelledAddress, { minLength: 1, maxLength: 40 }))(40, async (addresses) => {
    const found = new Map<string, Set<string>>();
    const spelled = addresses.flatMap(({ spellings }) =>
      spellings.map((text) => [text, spellings[0] ?? ''] as const),
    );
    for (const { slip44, spellings } of addresses)
      for (const text of spellings.filter(isServed))
        expect([text, judgeAddresses(slip44, [text], true)[0]?.refused]).toEqual([text, null]);
    const keys = await keysOf(spelled.map(([text]) => text));
    for (const [place, [, address]] of spelled.entries())
      found.set(address, (found.get(address) ?? new Set()).add(keys[place] ?? ''));
    for (const [address, each] of found)
      expect([address, [...each]]).toEqual([address, [expect.anything()]]);
    const different = new Set([...found.values()].flatMap((each) => [...each]));
    expect(different.size).toBe(found.size);
    expect(await keysOf(keys)).toEqual(keys);
  });
});

test('a text that only resembles such a spelling is its own key and never an error', async () => {
  const places = fc.array(fc.tuple(spelledAddress, fc.nat(), fc.constantFrom(...'q2Z-')), {
    minLength: 1,
    maxLength: 40,
  });
  await forAll(places)(40, async (drawn) => {
    const damaged = drawn.flatMap(([{ slip44, spellings }, at, letter]) =>
      spellings.map((text) => {
        const place = at % text.length;
        return { slip44, text: text.slice(0, place) + letter + text.slice(place + 1) };
      }),
    );
    const keys = await keysOf(damaged.map(({ text }) => text));
    expect(await keysOf(keys)).toEqual(keys);
    for (const [index, { slip44, text }] of damaged.entries()) {
      const isChecked = [2, 133, 145, 607].includes(slip44) && !/^[^\w+/-]|[:?]/.test(text);
      if (!isChecked || chainForms.get(slip44)?.read(text) !== null) continue;
      const isOneCase = text === text.toLowerCase() || text === text.toUpperCase();
      expect([text, keys[index]]).toEqual([text, isOneCase ? text.toLowerCase() : text]);
    }
  });
});

test('the most common spellings of services are their own keys, or the plain digits', async () => {
  const own = [
    'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
    'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh',
    'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh:12345',
    'EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2',
    '4fYNw3dojWmQ4dXtSGE9epjRGy9pFSx62YypT7avPYvA',
    't1Hsc1LR8yKnbbe3twRp88p6vFfC5t7DLbs',
  ];
  expect(await keysOf(own)).toEqual(own);
  const digits = [
    '00aeb6053f3e94c9b9a09f33669435e7ef1beaed',
    '42a212de6a9dfa3a69e22387acfbafbb1a9e591bd9d636e7895dcfc8de05f331',
  ];
  expect(await keysOf(digits.map((text) => `0x${text}`))).toEqual(digits);
});
