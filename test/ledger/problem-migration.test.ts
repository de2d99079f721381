import { expect, test } from 'vitest';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger({ isMigrated: false });

test('after an upgrade the feed does not repeat a problem that it has reported, and reports the others of its kind', async () => {
  await migrateBefore(ledger, 'each_problem_told');
  await query(`
    insert into ledger.reconciliation_runs (symbol, observed_at, expected, reported, difference, is_explained, unexplained_since)
    values ('ETH', now(), 1, 2, 1, false, now()), ('BTC', now(), 1, 2, 1, false, now() - interval '1 day')`);
  await query('select engine.note_problems()');
  const told = () =>
    query(`select kind, data ->> 'subject' as subject, data ->> 'what' as what from engine.outbox
            where key = 'unexplained_difference' order by id`);
  expect(await told()).toMatchObject([
    { kind: 'problem.raised', what: expect.stringContaining('BTC') },
  ]);
  await migrateLedger(ledger);
  await query('select engine.note_problems()');
  expect((await told()).slice(1)).toMatchObject([{ kind: 'problem.raised', subject: 'ETH' }]);
  await query('select engine.note_problems()');
  expect(await told()).toHaveLength(2);
});
