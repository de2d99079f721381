import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainForms, maySpellAlike } from '../../src/kernel/address-form/chain-forms.ts';
import { judgeAddresses } from '../../src/kernel/address-form/judge-addresses.ts';
import { forAllSync } from '../support/for-all.ts';

/** Addresses that the chains' own documents and explorers show, of their test networks too. */
const known: [number, string][] = [
  [0, '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'],
  [0, '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy'],
  [0, 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'],
  [0, 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4'],
  [0, 'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr'],
  [0, 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx'],
  [0, 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn'],
  [0, '2MzQwSSnBHWHqSAqtTVQ6v47XtaisrJa1Vc'],
  [3, 'DH5yaieqoZN36fDVciNyRueRGvGLR3mr7L'],
  [60, '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
  [60, '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'],
  [60, '0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED'],
  [966, '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'],
  [145, 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a'],
  [145, 'qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a'],
  [195, 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'],
  [144, 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh'],
  [144, 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh:12345'],
  [144, 'X7AcgcsBL6XDcUb289X4mJ8djcdyKaB5hJDWMArnXr61cqZ'],
  [148, 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'],
  [148, 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ?memo=1'],
  [148, 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ'],
  [501, '4fYNw3dojWmQ4dXtSGE9epjRGy9pFSx62YypT7avPYvA'],
  [133, 't1Hsc1LR8yKnbbe3twRp88p6vFfC5t7DLbs'],
  [354, '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5'],
  [354, '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY'],
  [607, 'EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2'],
  [607, '0:ed169130705004711799b99561d8de82d31fbf84910ced6eb5fc92e7485ef8a7'],
  [461, 'f17uoq6tp427uzv7fztkbsnn64iwotfrristwpryy'],
  [461, 't01729'],
  [118, 'cosmos1fl48vsnmsdzcv85q5d2q4z5ajdha8yu34mf0eh'],
  [
    1815,
    'addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgse35a3x',
  ],
  [1815, 'Ae2tdPwUPEZFRbyhz3cpfC2CumGzNkFBN2L42rcUc2yjQpEkxDbkPodpMAi'],
  [397, 'alice.near'],
  [784, '0x02a212de6a9dfa3a69e22387acfbafbb1a9e591bd9d636e7895dcfc8de05f331'],
  [2, 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9'],
];

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-';

describe('chain forms', () => {
  it.each(known)('chain %i takes %s', (slip44, address) => {
    const [judged] = judgeAddresses(slip44, [address], true);
    expect(judged).toMatchObject({ refused: null });
    expect(['proven', 'plain']).toContain(judged?.form);
  });

  it.each(known.filter(([slip44, address]) => chainForms.get(slip44)?.read(address) === 'proven'))(
    'chain %i refuses %s with any other last letter',
    (slip44, address) => {
      const others = [...letters].filter((letter) => letter !== address.at(-1));
      const wrong = others.map((letter) => address.slice(0, -1) + letter);
      const taken = judgeAddresses(slip44, wrong, true).filter(({ refused }) => refused === null);
      expect(taken.map(({ form }) => form)).toEqual([]);
      // On its own, of a chain that has shown nothing yet.
      for (const one of wrong)
        expect(judgeAddresses(slip44, [one], false)[0]?.refused).toBeTruthy();
    },
  );
});

describe('texts that are no addresses', () => {
  const odd = [
    'null',
    'undefined',
    'NaN',
    '\u200b',
    '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae\u200b',
    '12345',
    '<b>0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed</b>',
    '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed\n0x',
    '\u001b[31m0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
    '=cmd|"/C calc"!A0',
    '=HYPERLINK(1)',
    '+1+1',
    '@SUM(1)',
    '-1:abc',
    ' 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
    '[object Object]',
    'аddress',
    "addr'--",
  ];

  it.each(odd)('%j is refused on every chain', (text) => {
    for (const slip44 of [...chainForms.keys(), 1, 999_999])
      expect(judgeAddresses(slip44, [text], false)[0]?.refused).toBeTruthy();
  });

  it('lets nothing but printable ASCII through, whatever comes', () => {
    const chains = fc.constantFrom(...chainForms.keys(), 1, 714);
    const drawn = forAllSync(chains, fc.array(fc.string({ unit: 'binary' })), fc.boolean());
    drawn(100, (slip44, texts, seen) => {
      const judged = judgeAddresses(slip44, texts, seen);
      expect(judged.map(({ address }) => address)).toEqual(texts);
      for (const { address, refused } of judged)
        if (refused === null) expect(address).toMatch(/^[A-Za-z0-9!#-;?-~][!#-;?-~]+$/);
    });
  });

  it('reads no text for long, whatever its length and letters', () => {
    const long = ['1', 'q', '0', 'f', 'a:'].map((letter) => letter.repeat(100_000));
    const started = performance.now();
    for (const slip44 of chainForms.keys()) judgeAddresses(slip44, long, false);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe('a service that writes addresses in a way of its own', () => {
  const strange = ['bc1q0invented1', 'bc1q0invented2'];
  const good = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';

  it('is accepted while none of them fits the chain', () => {
    const judged = judgeAddresses(0, strange, false);
    expect(judged.map(({ form }) => form)).toEqual(['strange', 'strange']);
  });

  it('is refused once another address fits, in the same answer or before', () => {
    expect(judgeAddresses(0, strange, true).map(({ form }) => form)).toEqual([null, null]);
    const mixed = judgeAddresses(0, [...strange, good], false);
    expect(mixed.map(({ form }) => form)).toEqual([null, null, 'proven']);
  });

  it('is refused beside a text that is not an address at all', () => {
    const mixed = judgeAddresses(0, [...strange, 'null'], false);
    expect(mixed.map(({ form }) => form)).toEqual([null, null, null]);
  });

  it('is not known of a chain without a known form: the plain rule decides', () => {
    const judged = judgeAddresses(999_999, ['addr-1', '<x>aa', 'addr-2'], false);
    expect(judged.map(({ form }) => form)).toEqual(['other', null, 'other']);
  });
});

it.each<[number, number, boolean]>([
  [60, 966, true],
  [966, 461, true],
  [637, 784, true],
  [0, 145, true],
  [60, 990_001, true],
  [990_001, 990_002, true],
  [60, 195, false],
  [0, 60, false],
  [501, 195, false],
])('one text may be an address of the chains %i and %i: %s', (one, other, isAlike) => {
  expect([maySpellAlike(one, other), maySpellAlike(other, one)]).toEqual([isAlike, isAlike]);
});
