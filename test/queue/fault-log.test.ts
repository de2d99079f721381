import { expect, it } from 'vitest';
import { createFaultLog } from '../../src/queue/fault-log.ts';
import { recordLog } from '../support/record-log.ts';

it('a fault that comes thousands of times is a line in ten seconds, and an error once it lasts a minute', () => {
  const { log, lines } = recordLog();
  let now = 1_700_000_000_000;
  const onFault = createFaultLog(log, () => now);
  for (let ms = 0; ms < 75_000; ms += 10) {
    now += 10;
    onFault('worker', Object.assign(new Error(`terminated ${ms}`), { code: '57P01' }));
  }
  expect(lines.map((line) => line.level)).toEqual([...Array(6).fill('warn'), 'error', 'error']);
  expect(lines[1]?.fields).toMatchObject({ source: 'worker', times: 1_000 });
});

it('different faults do not hide each other', () => {
  const { log, lines } = recordLog();
  const onFault = createFaultLog(log, () => 0);
  onFault('worker', new Error('one'));
  onFault('worker', new Error('two'));
  onFault('queue', new Error('one'));
  expect(lines).toHaveLength(3);
});
