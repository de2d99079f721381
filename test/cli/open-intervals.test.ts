import { expect, test } from 'vitest';
import { openIntervals } from '../../src/cli/context/open-intervals.ts';
import { recordLog } from '../support/record-log.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger();

function daemon(everyMs: number | null) {
  const { log, lines } = recordLog();
  const jobs = [{ name: 'work', everyMs, offsetMs: 0, run: async () => undefined }];
  return {
    lines,
    open: () => openIntervals(ledger, 'redis shared', jobs, log),
  };
}

test('the daemon that started last sets the intervals of all; the others follow it and say so once', async () => {
  const [first, second, third] = [daemon(10_000), daemon(30_000), daemon(null)];
  const readFirst = await first.open();
  expect([await readFirst(), first.lines]).toEqual([{ work: 10_000 }, []]);
  const readSecond = await second.open();
  expect([await readFirst(), await readSecond(), await readFirst()]).toEqual(
    Array(3).fill({ work: 30_000 }),
  );
  const changes = ['work 10s -> 30s'];
  expect(second.lines).toMatchObject([{ level: 'info', fields: { changes } }]);
  expect(first.lines).toMatchObject([{ level: 'warn', fields: { changes } }]);
  const readThird = await third.open();
  expect([await readFirst(), await readThird()]).toEqual(Array(2).fill({ work: null }));
  expect(first.lines).toHaveLength(2);
  expect(third.lines).toMatchObject([{ fields: { changes: ['work 30s -> off'] } }]);
});
