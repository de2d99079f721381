import { expect, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('a service that lets wait gets a progress line within 11 s, which says so', async () => {
  const { env } = await withService({ transactions: 100, latencyMs: 60_000 });
  const startedMs = performance.now();
  const program = startProgram(['backfill'], { ...env, WALLET_TIMEOUT: '90s' });
  expect(await program.line('no answer from the service yet')).toMatch(/^progress after \d+ s: /);
  expect(performance.now() - startedMs).toBeLessThan(11_000);
  program.process.kill('SIGKILL');
}, 60_000);

test('verify shows its progress, too', async () => {
  const { env } = await withService({ transactions: 4_000 });
  expect((await runProgram(['migrate'], env)).code).toBe(0);
  const program = startProgram(['verify'], { ...env, WALLET_MAX_RPS: '3' });
  expect(await program.line(/deposit: [\d,]+ of [\d,]+ rows · \d+ pages? · .+ left/)).toMatch(
    /^progress after \d+ s: /,
  );
  program.process.kill('SIGKILL');
}, 60_000);

test('within a request budget it shows pages, rows, rate and time left', async () => {
  const { env } = await withService({ transactions: 4_000 });
  const program = startProgram(['backfill'], { ...env, WALLET_MAX_RPS: '3' });
  // Which list gets the first pages of the budget is not told: the line that shows the deposits may be a later one.
  expect(
    await program.line(/deposit: [\d,]+ of [\d,]+ rows · \d+ pages? · [\d,.]+ rows\/s · .+ left/),
  ).toMatch(/^progress after \d+ s: /);
  program.process.kill('SIGKILL');
}, 60_000);
