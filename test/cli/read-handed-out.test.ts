import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readHandedOut } from '../../src/cli/read-handed-out.ts';
import { forAllSync } from '../support/for-all.ts';

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const oneLine = fc.string().map((text) => text.replaceAll(/[\r\n]/g, ' '));

test('whatever stands in its fields, a quoted file is read as it was written', () => {
  const row = fc.record({
    slip44: fc.integer({ min: 0, max: 2_147_483_647 }),
    address: oneLine.filter((text) => text !== ''),
    reference: fc.option(oneLine.filter((text) => text !== '')),
  });
  const drawn = forAllSync(fc.array(row), fc.boolean(), fc.constantFrom('\n', '\r\n'));
  drawn(100, (rows, hasHead, end) => {
    const lines = rows.map(
      ({ slip44, address, reference }) =>
        `${slip44},${quoted(address)},${reference === null ? '' : quoted(reference)}`,
    );
    const text = [...(hasHead ? ['slip44,address,reference'] : []), ...lines, ''].join(end);
    const first = hasHead ? 2 : 1;
    expect(readHandedOut(text)).toEqual({
      list: rows.map((each, index) => ({ line: first + index, ...each })),
      bad: [],
    });
  });
});

test('every bad line is named, by its place in the file', () => {
  const { list, bad } = readHandedOut(
    '60,0xaa,anna\n\nEthereum,0xbb,bert\n60,,carl\n60\n60,0xdd,dora,extra\n60,"0xee\n 60 , 0xff \n99999999999,a,b\n',
  );
  expect(list).toEqual([
    { line: 1, slip44: 60, address: '0xaa', reference: 'anna' },
    { line: 8, slip44: 60, address: '0xff', reference: null },
  ]);
  expect(bad.map(({ line }) => line)).toEqual([3, 4, 5, 6, 7, 9]);
  expect(bad[0]?.reason).toContain('"Ethereum"');
});

test('a reference that no index may hold is a bad line', () => {
  const accepted = 'é'.repeat(1_000);
  const { list, bad } = readHandedOut(`60,0xaa,${accepted}\n60,0xbb,${accepted}e\n`);
  expect(list.map(({ line }) => line)).toEqual([1]);
  expect(bad).toEqual([
    { line: 2, reason: 'the reference has 2001 bytes, and at most 2000 are accepted' },
  ]);
});
