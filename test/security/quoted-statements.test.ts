import { expect, test } from 'vitest';
import { recordRun } from '../../src/ledger/reports/sync-run-store.ts';
import { runProgram } from '../support/run-cli.ts';
import { withLedger } from '../support/with-ledger.ts';
import { withService } from '../support/with-service.ts';

const { ledger, query: ask } = await withLedger();

test('a statement that fails leaves the words of the database, and neither its text nor its values', async () => {
  const { env, query } = await withService({ transactions: 30, addressesPerChain: 5 });
  const settings = { ...env, ADDRESS_POOLS: '60:5:20', LOG_LEVEL: 'debug', POOL_SETTLE: '0s' };
  expect((await runProgram(['migrate'], settings)).code).toBe(0);
  await query(`
    create function public.refuse() returns trigger language plpgsql as $$ begin raise 'planted'; end $$;
    create trigger refuse before insert on ledger.transactions for each row execute function public.refuse();
    create trigger refuse before insert or update on ledger.addresses for each row
      when (new.generated_by is not null) execute function public.refuse()`);
  const runs = [
    await runProgram(['sync', 'transactions'], settings),
    await runProgram(['sync', 'pools'], settings),
    await runProgram(['status'], settings),
    await runProgram(['status', '--json'], settings),
  ];
  const stored = await query(`
    select 'stream' as of, last_error as error from ledger.streams where last_error is not null
    union all select 'run', error from ledger.sync_runs where error is not null
    union all select 'request', error from ledger.address_requests where error is not null
    union all select 'pool', last_error from ledger.pools where last_error is not null
    union all select 'reject', reason from ledger.rejects`);
  for (const place of ['stream', 'run', 'request'])
    expect(stored.map((row) => row['of'])).toContain(place);
  const texts = [
    ...stored.map(({ error }) => String(error)),
    ...runs.flatMap(({ stdout, stderr }) => [stdout, stderr]),
  ];
  for (const text of texts) expect(text).not.toMatch(/Failed query|params:|insert into|unnest/);
}, 120_000);

test('an error is stored with a bounded length, whoever made it', async () => {
  const run = { job: 'x', durationMs: 1, outcome: 'failed', requests: 0, rowsSeen: 0 } as const;
  const error = 'e'.repeat(1_000_000);
  await recordRun(
    ledger.db,
    { ...run, rowsInserted: 0, rowsUpdated: 0, error },
    { runsMs: null, resolvedMs: null },
  );
  expect(await ask('select length(error)::int as length from ledger.sync_runs')).toEqual([
    { length: 2_000 },
  ]);
});
