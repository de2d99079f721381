import { expect, it } from 'vitest';
import { createJobFailureLog } from '../../src/queue/job-failure-log.ts';
import { recordLog } from '../support/record-log.ts';

it('a job that keeps failing is a warning, after a minute an error a minute, and its success a line', () => {
  const { log, lines } = recordLog();
  let now = 0;
  const failures = createJobFailureLog(log, () => now);
  for (; now < 150_000; now += 15_000) failures.onFailure('details', new Error('refused'));
  const seen = () => lines.map(({ level, fields }) => [level, fields['times']]);
  expect(seen()).toEqual([
    ['warn', 1],
    ['error', 4],
    ['error', 4],
  ]);
  failures.onFailure('details', new Error('gone'));
  failures.onFailure('coins', new Error('gone'));
  expect(seen().slice(3)).toEqual([
    ['error', 2],
    ['warn', 1],
  ]);
  failures.onSuccess('details');
  failures.onSuccess('details');
  failures.onFailure('details', new Error('refused'));
  expect(lines.slice(5)).toMatchObject([
    { level: 'info', fields: { job: 'details', seconds: 150 } },
    { level: 'warn', fields: { job: 'details', times: 1 } },
  ]);
});
