import { expect, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('[Q3] a third of the answers lost, killed ten times: every generated address is in the ledger, and the pool ends full', async () => {
  const { sandbox, env, query } = await withService({ transactions: 0, addressesPerChain: 40 });
  sandbox.faults.lostPostRate = 0.3;
  sandbox.faults.next.push('lost-answer', 'lost-answer');
  const settings = { ...env, ADDRESS_POOLS: '60:1500:3000', POOL_SETTLE: '300ms' };
  expect((await runProgram(['migrate'], settings)).code).toBe(0);
  for (let run = 0; run < 10; run += 1) {
    const program = startProgram(['pool', 'refill', '60'], settings);
    const timer = setTimeout(() => program.process.kill('SIGKILL'), 400 + Math.random() * 900);
    await program.ended;
    clearTimeout(timer);
  }
  const last = await runProgram(['pool', 'refill', '60'], settings);
  expect(last.code).toBe(0);
  const lost = sandbox.stats.faults['lost-answer'];
  expect(lost).toBeGreaterThan(0);
  const generated = sandbox.world.generated(60);
  expect(generated).toBeLessThanOrEqual(3_000 + lost * 200);
  const known = new Set(
    (await query('select address from ledger.addresses where slip44 = 60')).map(
      (row) => row['address'],
    ),
  );
  expect(sandbox.world.addresses(60).filter((address) => !known.has(address))).toEqual([]);
  const [levels] = await query(`
    select count(*) filter (where status = 'available')::int as available,
           count(*) filter (where status = 'foreign')::int as foreign,
           count(*) filter (where status = 'available' and generated_by is null)::int as unaccounted
      from ledger.addresses where slip44 = 60`);
  expect(Number(levels?.['available'])).toBeGreaterThanOrEqual(3_000);
  expect(levels).toMatchObject({ foreign: 40, unaccounted: 0 });
}, 120_000);
