import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

const generate = '/v1/wallet/address';
const good = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const odd = [
  'null',
  'undefined',
  '\u200b',
  `${good}\u200b`,
  12345,
  '<b>TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t</b>',
  '<script>alert(1)</script>',
  `${good}\n${good}`,
  `\u001b[31m${good}\u001b[0m`,
  "=cmd|'/C calc'!A0",
  '=HYPERLINK("http://evil")',
  `@${good}`,
  `${good.slice(0, -1)}u`,
  good.slice(0, -1),
  '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
];

test('of fifteen texts that are no addresses none is available, each is a reject, and the chain asks for no more', async () => {
  const { sandbox, env, query } = await withService({ transactions: 0, addressesPerChain: 3 });
  const settings = { ...env, ADDRESS_POOLS: '195:5:16' };
  const run = (...args: string[]) => runProgram(args, settings);
  const available = () => query(`select address from ledger.addresses where status = 'available'`);
  const problems = () =>
    query(`select severity from ledger.problems where name = 'address_refused'`);
  const rejects = () =>
    query(
      `select payload::jsonb ->> 'address' as address from ledger.rejects where resolved_at is null`,
    );
  const data = [good, ...odd].map((address) => ({ address }));
  sandbox.answers.set(generate, { status: 200, text: JSON.stringify({ code: 0, msg: '', data }) });

  expect((await run('sync', 'pools')).code).toBe(3);
  expect(await available()).toEqual([{ address: good }]);
  const refused = new Set((await rejects()).map(({ address }) => address));
  expect(refused).toEqual(new Set(odd.map(String)));
  expect(await problems()).toEqual([{ severity: 'critical' }]);
  expect((await run('status', '--check')).code).toBe(3);

  const asked = sandbox.stats.requests[generate];
  sandbox.answers.clear();
  expect((await run('sync', 'pools')).code).toBe(3);
  expect((await run('pool', 'refill', '195')).code).toBe(3);
  expect(sandbox.stats.requests[generate]).toBe(asked);

  expect((await run('pool', 'take', '195')).stdout).toBe(`${good}\n`);
  expect((await run('pool', 'take', '195')).code).toBe(3);
  expect((await run('rejects', 'retry')).code).toBe(3);

  const resumed = await run('pool', 'refill', '195', '--resume');
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(await available()).toHaveLength(16);
  expect([await problems(), await rejects()]).toEqual([[], []]);
  const adopting = await run('pool', 'adopt', '195');
  expect(adopting.stdout.split('\n').length).toBeGreaterThan(odd.length);
  for (const raw of ['\u001b', '\u200b', `${good}\n${good}`])
    expect([raw, adopting.stdout.includes(raw)]).toEqual([raw, false]);
  expect((await run('pool', 'adopt', '195', '--yes')).code).toBe(0);
  const refusedNow = await query(
    `select distinct status from ledger.addresses where refused is not null`,
  );
  expect(refusedNow).toEqual([{ status: 'foreign' }]);
}, 120_000);
