import { expect, test } from 'vitest';
import { checkAddressForms } from '../../src/doctor/check-address-forms.ts';
import { examine, withSandboxOf } from './examine.ts';

const tron = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const verdictsOf = (byChain: [number, string[]][]) =>
  checkAddressForms(new Map(byChain)).map(({ verdict, seen }) => [verdict, seen]);

test('addresses in their chain’s form are good; a chain without any is not judged', () => {
  expect(
    verdictsOf([
      [195, [tron]],
      [60, []],
    ]),
  ).toEqual([['good', expect.stringContaining('195')]]);
  expect(verdictsOf([[60, []]])).toEqual([]);
});

test('a chain whose addresses never have the known form is named: a wrong letter cannot be seen there', () => {
  const words = [expect.stringMatching(/none of the 2 .* 195 has the form of Tron.*wrong letter/)];
  expect(verdictsOf([[195, ['tron-account-1', 'tron-account-2']]])).toEqual([
    ['warning', ...words],
  ]);
});

test('so is a chain whose form is not known', () => {
  expect(verdictsOf([[424_242, ['account-1']]])).toEqual([
    ['warning', expect.stringMatching(/chain 424242 is not known to this program.*wrong letter/)],
  ]);
});

test('what would be refused is bad, and not shown', () => {
  const odd = '=cmd|calc';
  for (const addresses of [
    [tron, odd],
    [tron, `${tron.slice(0, -1)}u`],
  ]) {
    const [finding, ...others] = verdictsOf([[195, addresses]]);
    expect([finding?.[0], others]).toEqual(['bad', []]);
    expect(finding?.[1]).toMatch(/^1 of 2 listed addresses of chain 195 would be refused/);
    expect(finding?.[1]).not.toContain(odd);
  }
});

test('the doctor checks the addresses of the chains that have pools', async () => {
  const sandbox = await withSandboxOf({ addressesPerChain: 3 });
  const { find } = await examine(sandbox, { ADDRESS_POOLS: '60:1:2,195:1:2' });
  expect(find('address-form')).toMatchObject({ verdict: 'good' });
});
