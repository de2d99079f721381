import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { openTcpGate } from '../support/tcp-gate.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

const often = {
  SYNC_TRANSACTIONS_EVERY: '500ms',
  SYNC_DETAILS_EVERY: '500ms',
  SYNC_BALANCES_EVERY: '500ms',
  SYNC_COINS_EVERY: '500ms',
  SYNC_ADDRESSES_EVERY: '500ms',
  FILL_POOLS_EVERY: '500ms',
  AUDIT_EVERY: '500ms',
};

test('a daemon whose wallet the ledger no longer keeps stores and generates nothing more, and says so', async () => {
  const { env, query, sandbox } = await withService({ transactions: 30, paysKnownOnly: true });
  const gate = await openTcpGate(String(env['WALLET_BASE_URL']));
  onTestFinished(() => gate.close());
  const elsewhere = { ...env, WALLET_BASE_URL: gate.url };
  const daemon = startProgram(['start'], { ...env, ...often, ADDRESS_POOLS: '60:3:5' });
  const levels = () => query('select available::int from ledger.pool_levels');
  await until(async () => (await levels())[0]?.['available'] === 5);
  await until(async () => {
    const whole = await query(
      'select from ledger.transactions where detail_synced_at is not null having count(*) = 30',
    );
    return whole.length === 1;
  });

  expect(await runProgram(['migrate', '--wallet-key'], elsewhere)).toMatchObject({ code: 0 });
  const line = await Promise.race([daemon.line('belongs to another wallet'), delay(20_000)]);
  expect(line).toContain('WALLET_BASE_URL');
  // Passes that began before.
  await delay(2_000);
  const facts = () =>
    query(`select (select count(*) from ledger.transactions) as rows,
                  (select max(changed_at) from ledger.transactions) as changed,
                  (select max(id) from ledger.address_requests) as requests,
                  (select max(last_success_at) from ledger.streams) as read,
                  (select max(observed_at) from ledger.balances) as balances`);
  const before = await facts();
  sandbox.stats.reset();
  sandbox.world.addTransactions(3);
  await query(`update ledger.addresses set status = 'used' where status = 'available'`);
  await query('select ledger.hint()');
  await delay(3_000);
  expect(await facts()).toEqual(before);
  expect(Object.values(sandbox.stats.requests).every((count) => count === 0)).toBe(true);

  const { code, stdout } = await runProgram(['status', '--json', '--check'], elsewhere);
  const { problems, lastErrors } = JSON.parse(stdout);
  expect([code, JSON.stringify(lastErrors)]).toEqual([
    3,
    expect.stringContaining('belongs to another wallet'),
  ]);
  expect(problems).toContainEqual(expect.objectContaining({ name: 'queue_failing' }));
  // The same as five minutes later.
  await query(`update ledger.sync_runs set started_at = started_at - interval '6 minutes',
                                           finished_at = finished_at - interval '6 minutes'`);
  await query(`update ledger.streams set last_success_at = last_success_at - interval '6 minutes'`);
  const later = JSON.parse((await runProgram(['status', '--json'], elsewhere)).stdout).problems;
  expect(later.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['stream_stale', 'job_failing']),
  );

  expect(await runProgram(['sync', 'transactions'], elsewhere)).toMatchObject({ code: 0 });
  expect(await runProgram(['migrate', '--wallet-key'], env)).toMatchObject({ code: 0 });
  await until(async () => (await levels())[0]?.['available'] === 5);
  daemon.process.kill('SIGTERM');
  const ended = await daemon.ended;
  expect(ended.code).toBe(0);
  const lines = (ended.stdout + ended.stderr).split('\n');
  const said = lines.filter((each) => each.includes('belongs to another wallet'));
  // A job says it again only after a minute, or after a success: a pass that began before may end after the first line.
  const saidAt = new Map<string, number>();
  for (const each of lines) {
    if (!/belongs to another wallet|job works again/.test(each)) continue;
    const { job = 'the hints', time, msg } = JSON.parse(each);
    if (msg === 'job works again') saidAt.delete(job);
    else {
      expect(Date.parse(time) - (saidAt.get(job) ?? 0), job).toBeGreaterThanOrEqual(59_000);
      saidAt.set(job, Date.parse(time));
    }
  }
  expect(said.join('\n')).toContain('migrate --wallet-key');
}, 120_000);
