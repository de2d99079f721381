import { expect, onTestFinished, test } from 'vitest';
import { countStatements } from '../support/count-statements.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until as untilWithin } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

const wallets = ['eu', 'us', 'asia', 'cold'];
const often = { SYNC_TRANSACTIONS_EVERY: '1500ms', SYNC_DETAILS_EVERY: '1s' };
const until = (condition: () => boolean) => untilWithin(async () => condition(), 120_000);

test('an idle daemon of several wallets runs few statements for each run of a job', async () => {
  const { env } = await withService({ transactions: 100, wallets, settleMs: 0 });
  for (const wallet of wallets)
    expect(await runProgram(['backfill', '--wallet', wallet], env)).toMatchObject({ code: 0 });
  const counter = await countStatements(String(env['DATABASE_URL']));
  onTestFinished(() => counter.close());
  const daemon = startProgram(['start'], { ...env, ...often, DATABASE_URL: counter.url });
  onTestFinished(async () => {
    daemon.process.kill('SIGTERM');
    await daemon.ended;
  });
  const runs = () => counter.count(/move_to_completed/);
  // Every job has run by then, and what the first pass of a daemon reads is read.
  await until(() => runs() > 120);
  const before = new Map(counter.counts);
  const runsBefore = runs();
  await until(() => runs() >= runsBefore + 120);
  const perRun = (pattern: RegExp) =>
    [...counter.counts]
      .filter(([text]) => pattern.test(text))
      .reduce((sum, [text, times]) => sum + times - (before.get(text) ?? 0), 0) /
    (runs() - runsBefore);
  expect(perRun(/./)).toBeLessThan(13);
  // A run of a schedule is claimed, continued and completed.
  expect(perRun(/move_to|next_delay|next_signal|has_waiting|update_job_scheduler/)).toBeLessThan(
    3.5,
  );
  // An unchanged page is no transaction, and what concerns all wallets is read once for all.
  expect(perRun(/^begin/i)).toBeLessThan(0.2);
  expect(perRun(/home_state/)).toBeLessThan(0.6);
  expect(perRun(/engine\.hints/)).toBeLessThan(0.1);
}, 300_000);
