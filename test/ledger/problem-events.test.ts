import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { readEvents } from '../../src/ledger/feed/event-store.ts';
import { watchProblems } from '../../src/ledger/feed/watch-problems.ts';
import { numberEvents } from '../support/number-events.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query } = await withLedger();

async function told(): Promise<string[]> {
  await numberEvents(ledger.db);
  const events = await readEvents(ledger.db, 0, 100);
  return events
    .filter(({ kind }) => kind.startsWith('problem.'))
    .map(({ kind, key, data }) => `${kind} ${key} ${data['severity']}`);
}

test('a problem is on the feed once when it begins and once when it ends, of several daemons too', async () => {
  const watchers = [ledger, connect(), connect()].map((own) => watchProblems(own, silentLog));
  onTestFinished(async () => {
    for (const watcher of watchers) await watcher.close();
  });
  const wakeAll = () => {
    for (const { wake } of watchers) wake();
  };
  await query(`insert into ledger.pools (slip44, threshold, target) values (60, 3, 5), (61, 3, 5)`);
  const raised = [`problem.raised pool_empty critical`];
  await until(async () => {
    wakeAll();
    return (await told()).includes(raised[0] ?? '');
  });
  const begun = await told();
  expect(begun.filter((one) => one.includes('pool_empty'))).toEqual(raised);
  const [event] = (await readEvents(ledger.db, 0, 100)).filter(({ key }) => key === 'pool_empty');
  expect(event?.data).toMatchObject({
    name: 'pool_empty',
    what: expect.stringContaining('chain 6'),
    cure: expect.any(String),
  });
  await query('delete from ledger.pools where slip44 = 60');
  wakeAll();
  await query('select engine.note_problems()');
  expect(await told()).toEqual(begun);
  await query('delete from ledger.pools');
  await until(async () => {
    wakeAll();
    return (await told()).includes('problem.cleared pool_empty critical');
  });
  const ended = await told();
  expect(ended.filter((one) => one.includes('pool_empty'))).toEqual([
    ...raised,
    'problem.cleared pool_empty critical',
  ]);
  for (let count = 0; count < 5; count += 1) await query('select engine.note_problems()');
  expect(await told()).toEqual(ended);
});
