import { expect, test } from 'vitest';
import { createPageReader } from '../../src/cli/context/create-page-reader.ts';
import { createRedactor } from '../../src/kernel/redact.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger({ isMigrated: false });
const redact = createRedactor(['a-secret-of-some-length']);

test('three pages read at once; one that waits too long is told so, and others go on', async () => {
  const read = createPageReader(ledger, redact, 200);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let reading = 0;
  const held = [1, 2, 3].map((page) =>
    read(async () => {
      reading += 1;
      await released;
      return page;
    }),
  );
  await expect.poll(() => reading, { timeout: 60_000 }).toBe(3);
  await expect(read(async () => 4)).rejects.toMatchObject({ name: 'TimeoutError' });
  release();
  expect(await Promise.all(held)).toEqual([1, 2, 3]);
  expect(await read(async () => 5)).toBe(5);
});

test('a secret that the service echoed is not shown', async () => {
  const read = createPageReader(ledger, redact);
  const shown = await read(async () => ({ rows: [{ error: 'no a-secret-of-some-length here' }] }));
  expect(shown).toEqual({ rows: [{ error: 'no [redacted] here' }] });
});
