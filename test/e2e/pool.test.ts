import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('a pool is listed, filled, taken from and joined by what the service listed already', async () => {
  const { sandbox, env, query } = await withService({ transactions: 60, addressesPerChain: 30 });
  const settings = { ...env, ADDRESS_POOLS: '60:5:20,195:2:4' };
  const run = (...args: string[]) => runProgram(['pool', ...args], settings);

  expect((await runProgram(['migrate'], env)).code).toBe(0);
  await query('insert into ledger.pools (slip44, threshold, target) values (60, 5, 20)');
  const empty = await run('list');
  expect(empty).toMatchObject({ code: 3, stdout: expect.stringContaining('chain 60: 0 of 20') });
  expect(empty.stderr).toContain('wallet-ledger pool refill 60');
  expect(await run('take', '60')).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(
      /^(?!.*adopt).*chain 60 is empty; run `wallet-ledger pool refill 60`/s,
    ),
  });

  expect(await run('take', '999')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^wallet-ledger: the chain 999 has neither a pool nor addresses: /,
    ),
  });

  const filled = await run('refill', '60');
  expect(filled).toMatchObject({ code: 0, stdout: expect.stringContaining('20 of 20 available') });
  expect(sandbox.world.generated(60)).toBe(20);

  const [first, again, other] = await Promise.all([
    run('take', '60', '--reference', 'customer 1'),
    run('take', '60', '--reference', 'customer 1'),
    run('take', '60'),
  ]);
  expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^0x[0-9a-fA-F]{40}\n$/) });
  expect(again.stdout).toBe(first.stdout);
  expect(other.stdout).not.toBe(first.stdout);

  // The threshold is not crossed: filled all the same, and the chain without a word too.
  const refilled = await run('refill', '--json');
  expect(refilled.code).toBe(0);
  expect(JSON.parse(refilled.stdout).pools).toMatchObject([
    { slip44: 60, available: 20, target: 20 },
    { slip44: 195, available: 4, target: 4 },
  ]);
  expect(sandbox.world.generated(60)).toBe(22);
  const foreign = await query(
    `select from ledger.addresses where slip44 = 60 and status = 'foreign'`,
  );
  expect(foreign.length).toBeGreaterThan(0);
  // Shown first: nothing becomes available without a word.
  const shown = await run('adopt', '60');
  expect(shown).toMatchObject({ code: 0, stderr: expect.stringContaining('add --yes') });
  expect(shown.stdout.trim().split('\n')).toHaveLength(foreign.length);
  const reported = await run('adopt', '60', '--json');
  expect(reported).toMatchObject({ code: 0, stderr: '' });
  const report = JSON.parse(reported.stdout) as { foreign: { address: string }[] };
  expect(report).toMatchObject({ slip44: 60, adopted: null });
  expect(report.foreign.map(({ address }) => address)).toEqual(
    shown.stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]),
  );
  const stillForeign = `select address from ledger.addresses where slip44 = 60 and status = 'foreign' order by 1`;
  expect(await query(stillForeign)).toHaveLength(foreign.length);
  const free = shown.stdout
    .split('\n')
    .filter((line) => line.startsWith('0x') && !line.includes('has a deposit'))
    .map((line) => line.split(' ')[0] ?? '');
  const spellings = [String(free[0]), String(free[0]).toUpperCase()];
  expect(await run('adopt', '60', ...spellings, '--yes')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('1 address of chain 60 became available'),
  });
  expect(await run('adopt', '60', String(free[1]), 'nowhere', '--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('not a foreign address of chain 60: nowhere; '),
  });
  const adopted = await run('adopt', '60', String(free[1]), '--yes', '--json');
  expect(adopted).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(adopted.stdout)).toMatchObject({
    ...{ adoptable: 1, adopted: 1 },
    foreign: [{ address: free[1], hasDeposit: false, isHandedOut: false, refused: null }],
  });
  expect(await run('adopt', '60', '--yes')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`${free.length - 2} addresses of chain 60 became available`),
  });
  const listed = await run('list', '--json');
  expect(listed).toMatchObject({ code: 0, stderr: '' });
  const available = 20 + free.length;
  expect(JSON.parse(listed.stdout).pools).toMatchObject([
    {
      ...{ slip44: 60, available, assigned: 2, threshold: 5, target: 20, generated24h: 22 },
      daysLeft: Number((available * 3.5).toFixed(1)),
    },
    { slip44: 195, available: 4, assigned: 0, generated24h: 4, daysLeft: null },
  ]);
}, 180_000);

test('a refused pool ends with 3 in the service’s own words, and status says what to do', async () => {
  const { env } = await withService({ transactions: 0, mayAddAddresses: false });
  const settings = { ...env, ADDRESS_POOLS: '60:5:20' };
  expect((await runProgram(['migrate'], settings)).code).toBe(0);
  const refill = await runProgram(['pool', 'refill'], settings);
  expect(refill.code).toBe(3);
  expect(refill.stderr).toMatch(/the pool of chain 60 could not be filled: .*add addresses/i);
  const sync = await runProgram(['sync', 'pools'], settings);
  expect(sync.code).toBe(3);
  const [shown, json] = await Promise.all([
    runProgram(['status'], settings),
    runProgram(['status', '--json'], settings),
  ]);
  expect(shown.stdout).toMatch(/✗ the address pool of chain 60 is empty, and could not be filled/);
  expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain('check rights and limits at the service');
  expect(JSON.parse(json.stdout)).toMatchObject({
    pools: [{ slip44: 60, available: 0, daysLeft: null, lastError: expect.any(String) }],
    unexpectedDeposits: { foreign: 0, unknown: 0 },
  });
}, 30_000);

test('bad usage is reported before anything is opened or handed out', async () => {
  const pools = {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
    WALLET_BASE_URL: 'http://127.0.0.1:9',
    WALLET_API_SECRET: '1'.repeat(64),
    ADDRESS_POOLS: '60:5:20',
  };
  const runs = await Promise.all(
    [['take', 'eth'], ['take', '2147483648'], ['refill', '195'], []].map((args) =>
      runProgram(['pool', ...args], pools),
    ),
  );
  expect(runs.map(({ code }) => code)).toEqual([2, 2, 2, 2]);
  expect(runs[2]?.stderr).toContain('ADDRESS_POOLS names no pool of chain 195');
  const forgotten = await runProgram(['pool', 'take', '60', '--reference', ''], pools);
  expect(forgotten).toMatchObject({ code: 2, stderr: expect.stringContaining('reference') });
}, 30_000);

test('migrate makes a reader and an issuer, once more without harm', async () => {
  const { env, query } = await withService({ transactions: 0 });
  const roles = ['analyst', 'cashier'].map((name) => `${name} ${process.pid} ${Date.now()}`);
  const [reader = '', issuer = ''] = roles;
  onTestFinished(async () => {
    for (const role of roles)
      await query(`reset role; drop owned by "${role}"; drop role "${role}"`);
  });
  for (let run = 0; run < 2; run += 1) {
    const { code, stderr } = await runProgram(
      ['migrate', '--reader', reader, '--issuer', issuer],
      env,
    );
    expect(stderr).toContain(`${issuer} may call ledger.take_address`);
    // A name that was mistyped shows at once.
    for (const role of roles)
      expect([run, stderr.includes(`${role} did not exist and was created`)]).toEqual([
        run,
        run === 0,
      ]);
    expect(code).toBe(0);
  }
  await query('insert into ledger.pools (slip44, threshold, target) values (60, 1, 2)');
  await query(`set role "${reader}"`);
  expect(await query('select slip44 from ledger.pool_levels')).toEqual([{ slip44: 60 }]);
  await expect(query('select ledger.take_address(60, null)')).rejects.toThrow(/permission denied/);
  await query(`set role "${issuer}"`);
  expect(
    await query(`select ledger.take_address(60, null) as taken,
                        ledger.take_further_address('main', 60, 'customer') as further`),
  ).toEqual([{ taken: null, further: null }]);
  await expect(query('select * from ledger.pool_levels')).rejects.toThrow(/permission denied/);
  await query('reset role');
}, 30_000);
