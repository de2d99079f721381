import { expect, onTestFinished, test } from 'vitest';
import { rowsOfLedger, rowsOfService } from '../support/compare-rows.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until as untilWithin } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

const often = {
  SYNC_TRANSACTIONS_EVERY: '500ms',
  SYNC_DETAILS_EVERY: '500ms',
  SYNC_BALANCES_EVERY: '1s',
  FILL_POOLS_EVERY: '1s',
};

/** Two wallets side by side need their time on a busy machine. */
const until = (condition: () => Promise<boolean>) => untilWithin(condition, 60_000);

const openTwo = (transactions = 300) =>
  withService({ transactions, wallets: ['eu', 'us'], settleMs: 0 });

function walletOf({ sandbox }: Service, name: string) {
  const found = sandbox.wallets.find((wallet) => wallet.name === name);
  if (!found) throw new Error(`the sandbox has no wallet ${name}`);
  return found;
}

async function isProven({ query }: Service, wallet: string): Promise<boolean> {
  const rows = await query(
    `select 1 from ledger.streams where wallet = '${wallet}' and name in ('deposit', 'withdraw') and is_complete`,
  );
  return rows.length === 2;
}

async function hasAllDetails({ query }: Service, wallet: string): Promise<boolean> {
  const rows = await query(
    `select 1 from ledger.transactions where wallet = '${wallet}' and detail_synced_at is null limit 1`,
  );
  return rows.length === 0;
}

test('one daemon keeps two wallets, each as its service has it', async () => {
  const service = await openTwo();
  const { env, query } = service;
  const daemon = startProgram(['start'], { ...env, ...often, ADDRESS_POOLS: '60:5:10' });
  await daemon.line('"listening"');
  for (const wallet of ['eu', 'us']) {
    await until(async () => (await isProven(service, wallet)) && hasAllDetails(service, wallet));
    expect(await rowsOfLedger(query, wallet)).toEqual(rowsOfService(walletOf(service, wallet)));
  }
  await until(async () => {
    const rows = await query('select wallet from ledger.pool_levels where available >= 10');
    return rows.length === 2;
  });
  const shared = await query(`select 1 from ledger.addresses a join ledger.addresses b
    on b.address_key = a.address_key and b.slip44 = a.slip44 where a.wallet = 'eu' and b.wallet = 'us'
   and a.generated_by is not null and b.generated_by is not null`);
  expect(shared).toEqual([]);
  // The jobs of `often`. An audit leaves a run only where it started after the first reading.
  await until(async () => {
    const runs = await query(`select distinct wallet, job from ledger.sync_runs
      where job in ('transactions', 'details', 'balances', 'pools')`);
    return runs.length === 8;
  });
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 240_000);

test('a wallet whose service hangs, refuses, lies or is slow leaves the other as fresh as ever', async () => {
  const service = await withService({
    transactions: 200,
    wallets: ['eu', 'us'],
    arrivalsPerSecond: 5,
    settleMs: 0,
  });
  const { env, query } = service;
  const { faults } = walletOf(service, 'us');
  const daemon = startProgram(['start'], { ...env, ...often, WALLET_TIMEOUT: '2s' });
  await daemon.line('"listening"');
  await until(async () => (await isProven(service, 'eu')) && isProven(service, 'us'));
  const troubles = [
    { rate: 1, kinds: ['hang' as const] },
    { rate: 1, kinds: ['unauthorized' as const] },
    { rate: 0, totalError: 3 },
    { rate: 0, totalError: 0, slowdown: 100 },
  ];
  for (const trouble of troubles) {
    Object.assign(faults, trouble);
    const [before = { at: '', n: 0 }] = await query(
      "select clock_timestamp()::text as at, count(*)::int as n from ledger.transactions where wallet = 'eu'",
    );
    await until(async () => {
      const [now] = await query(
        "select count(*)::int as n from ledger.transactions where wallet = 'eu'",
      );
      return Number(now?.['n']) >= Number(before['n']) + 15;
    });
    const [worst] = await query(`
      select max(extract(epoch from first_seen_at - occurred_at)) as seconds from ledger.transactions
       where wallet = 'eu' and occurred_at > '${before['at']}'`);
    expect([trouble, Number(worst?.['seconds']) < 10]).toEqual([trouble, true]);
  }
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 300_000);

test('status shows the wallets that another daemon reads, and their problems', async () => {
  const { env, query } = await openTwo(20);
  expect((await runProgram(['backfill', '--no-details', '--wallet', 'eu'], env)).code).toBe(0);
  await query(`update ledger.sync_runs set started_at = started_at - interval '2 days',
                      finished_at = finished_at - interval '2 days'`);
  await query(`update ledger.streams set last_success_at = last_success_at - interval '2 days',
                      lease_until = lease_until - interval '2 days'`);
  const elsewhere = { DATABASE_URL: String(env['DATABASE_URL']) };
  const { code, stdout } = await runProgram(['status', '--json', '--check'], elsewhere);
  expect(code).toBe(3);
  const { problems, streams } = JSON.parse(stdout) as Record<string, { wallet: string }[]>;
  expect(problems).toContainEqual(expect.objectContaining({ name: 'daemon_silent', wallet: 'eu' }));
  expect(streams).toContainEqual(expect.objectContaining({ name: 'deposit', wallet: 'eu' }));
}, 90_000);

test('commands concern the wallet that is named, and ask for it where there are several', async () => {
  const service = await openTwo(60);
  const { env, query } = service;
  const own = { ...env, ADDRESS_POOLS: '60:5:10' };
  const unnamed = await runProgram(['backfill'], own);
  expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('--wallet')]);
  const unknown = await runProgram(['backfill', '--wallet', 'asia'], own);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringMatching(/asia.*eu, us/)]);
  expect((await runProgram(['backfill', '--wallet', 'us'], own)).code).toBe(0);
  expect(await rowsOfLedger(query, 'us')).toEqual(rowsOfService(walletOf(service, 'us')));
  expect(await rowsOfLedger(query, 'eu')).toEqual([]);
  const early = await runProgram(['pool', 'take', '60', '--wallet', 'eu'], own);
  expect([early.code, early.stderr]).toEqual([2, expect.stringContaining("no wallet named 'eu'")]);
  expect(early.stderr).toContain('`wallet-ledger sync --wallet eu`');
  const empty = await runProgram(['pool', 'take', '60', '--wallet', 'us'], own);
  expect(empty.stderr).toContain('`wallet-ledger pool refill 60 --wallet us`');
  for (const wallet of ['us', 'eu'])
    expect((await runProgram(['pool', 'refill', '--wallet', wallet], own)).code).toBe(0);
  const take = async (wallet: string) =>
    (await runProgram(['pool', 'take', '60', '--reference', 'anna', '--wallet', wallet], own))
      .stdout;
  const taken = [await take('eu'), await take('us'), await take('eu')];
  expect(taken[0]).toBe(taken[2]);
  expect(taken[0]).not.toBe(taken[1]);
  await query(`insert into ledger.rejects
    (wallet, source, reason, payload, fingerprint, first_seen_at, last_seen_at)
    values ('us', 'test', 'odd', '{}', 'x', now(), now())`);
  const status = JSON.parse((await runProgram(['status', '--json'], own)).stdout);
  const cures = status.problems.map(({ wallet, cure }: { wallet: string; cure: string }) => [
    wallet,
    cure,
  ]);
  expect(cures).toContainEqual([
    'us',
    expect.stringContaining('`wallet-ledger rejects --wallet us`'),
  ]);
  expect(status.wallets.map(({ name }: { name: string }) => name)).toEqual(['eu', 'us']);
  const ofUs = status.streams.filter(({ wallet }: { wallet: string }) => wallet === 'us');
  expect(ofUs.map(({ isComplete }: { isComplete: boolean }) => isComplete)).toContain(true);
  const one = JSON.parse((await runProgram(['status', '--json', '--wallet', 'us'], own)).stdout);
  expect(new Set(one.streams.map(({ wallet }: { wallet: string }) => wallet))).toEqual(
    new Set(['us']),
  );
  expect(one.problems.map(({ cure }: { cure: string }) => cure)).toContainEqual(
    expect.stringContaining('`wallet-ledger rejects --wallet us`'),
  );
}, 240_000);

test('a role that hands out addresses or reads the feed does so for every wallet, and migrate says so', async () => {
  const { env, query } = await openTwo(0);
  const roles = ['cashier', 'shop'].map((name) => `${name} ${process.pid} ${Date.now()}`);
  const [issuer = '', consumer = ''] = roles;
  onTestFinished(async () => {
    for (const role of roles) await query(`drop owned by "${role}"; drop role "${role}"`);
  });
  const args = ['migrate', '--issuer', issuer, '--consumer', consumer];
  const { code, stderr } = await runProgram([...args, '--wallet', 'eu'], env);
  expect(code).toBe(0);
  for (const may of [
    'ledger.take_address, ledger.take_further_address and ledger.hint',
    'the events of the change feed',
  ])
    expect(stderr).toContain(`${may}, for every wallet: --wallet limits a reader only`);
  for (const [role, feed] of [
    [issuer, '\n'],
    [consumer, '; warning: through the change feed it can read the events of every wallet'],
  ]) {
    const reader = await runProgram(['migrate', '--reader', `${role}`, '--wallet', 'eu'], env);
    expect([reader.code, reader.stderr]).toEqual([
      0,
      expect.stringContaining(`sees the rows of the wallet eu only${feed}`),
    ]);
  }
}, 60_000);

test('rows of a wallet that rests are shown as such, and pool take says that it rests', async () => {
  const service = await openTwo(20);
  const { env, query } = service;
  const own = { ...env, US__ADDRESS_POOLS: '60:5:10' };
  for (const wallet of ['eu', 'us'])
    expect((await runProgram(['backfill', '--wallet', wallet], own)).code).toBe(0);
  await query(`update ledger.wallets set is_resting = true where wallet = 'us'`);
  const [{ order_no: orderNo } = {}] = await query(
    "select 'us-' || order_no as order_no from ledger.transactions where wallet = 'us' limit 1",
  );
  await query(
    `update ledger.transactions set order_no = '${orderNo}' where wallet = 'us' and 'us-' || order_no = '${orderNo}'`,
  );
  const one = { ...env, WALLETS: 'eu' };
  for (const words of [[], ['--wallet', 'us']]) {
    const { code, stdout, stderr } = await runProgram(['show', String(orderNo), ...words], one);
    expect([code, stdout]).toEqual([0, expect.stringContaining(String(orderNo))]);
    expect(stderr).toContain('this is of the wallet us, which rests');
  }
  const { stdout } = await runProgram(['show', String(orderNo), '--json'], one);
  expect(JSON.parse(stdout)).toMatchObject({ wallet: 'us', transactions: [{ orderNo }] });
  const ofEu = await runProgram(['show', String(orderNo), '--wallet', 'eu'], one);
  expect(ofEu.code).toBe(3);
  const strange = await runProgram(['show', String(orderNo), '--wallet', 'asia'], one);
  expect([strange.code, strange.stderr]).toEqual([2, expect.stringMatching(/"asia".*eu, us/)]);
  const taken = await runProgram(['pool', 'take', '60'], one);
  expect([taken.code, taken.stdout]).toEqual([2, '']);
  expect(taken.stderr).toContain('one of the wallet us, which rests');
  const listed = await runProgram(['pool', 'list', '--wallet', 'us'], one);
  expect([listed.code, listed.stderr]).toEqual([
    2,
    expect.stringMatching(/WALLETS names no wallet "us".*rests/),
  ]);
  const stranger = await runProgram(['pool', 'take', '195'], one);
  expect(stranger.stderr).toContain('has neither a pool nor addresses');
}, 120_000);

test('a wallet that is taken out keeps its rows and is shown as resting', async () => {
  const service = await openTwo(60);
  const { env, query } = service;
  const both = startProgram(['start'], { ...env, ...often });
  await both.line('"listening"');
  for (const wallet of ['eu', 'us'])
    await until(async () => (await isProven(service, wallet)) && hasAllDetails(service, wallet));
  both.process.kill('SIGTERM');
  await both.ended;
  const daemon = startProgram(['start'], { ...env, ...often, WALLETS: 'eu' });
  const { port } = JSON.parse(await daemon.line('"listening"'));
  await until(async () => {
    const [us] = await query("select is_resting from ledger.wallets where wallet = 'us'");
    return us?.['is_resting'] === true;
  });
  expect(await rowsOfLedger(query, 'us')).toEqual(rowsOfService(walletOf(service, 'us')));
  const { stdout } = await runProgram(['status', '--json'], { ...env, WALLETS: 'eu' });
  const { wallets } = JSON.parse(stdout) as { wallets: { name: string; isResting: boolean }[] };
  expect(wallets.map(({ name, isResting }) => [name, isResting])).toEqual([
    ['eu', false],
    ['us', true],
  ]);
  const pageOf = async (path: string) =>
    await (await fetch(`http://127.0.0.1:${port}/wallets/us/${path}`)).text();
  const [{ order_no: orderNo } = {}] = await query(
    "select order_no from ledger.transactions where wallet = 'us' limit 1",
  );
  expect(await pageOf('')).toContain('us (resting: kept, no longer read)');
  expect(await pageOf('')).toContain('proven complete');
  expect(await pageOf('transactions')).toContain('50 transactions, latest first');
  expect(await pageOf(`transactions/${orderNo}`)).toContain('<h2 id="facts">');
  expect(await pageOf('problems')).toContain('Nothing needs a person');
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toContain('href="wallets/us/"');
  daemon.process.kill('SIGTERM');
  await daemon.ended;
}, 240_000);
