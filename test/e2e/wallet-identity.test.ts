import { expect, test } from 'vitest';
import { type Ended, runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('the ledger of one wallet refuses the settings of another, says how to go on, and writes nothing', async () => {
  const { env, query } = await withService({ transactions: 20 });
  const run = (args: string[], change: Record<string, string> = {}) =>
    runProgram(args, { ...env, ...change });
  const wallets = () => query('select wallet, base_url, key_fingerprint from ledger.wallets');
  const wallet = async (change: Record<string, string> = {}) => {
    const { checks } = JSON.parse((await run(['doctor', '--json'], change)).stdout);
    return (checks as { name: string; verdict: string; cure: string }[]).find(
      ({ name }) => name === 'wallet',
    );
  };
  await run(['migrate']);
  await run(['verify']);
  expect([await wallets(), (await wallet())?.verdict]).toEqual([[], 'good']);
  expect(await run(['sync', 'coins'])).toMatchObject({ code: 0 });
  const [stored] = await wallets();
  expect(stored).toEqual({
    wallet: 'main',
    base_url: env['WALLET_BASE_URL'],
    key_fingerprint: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  const renamed = await wallet({ WALLETS: 'other' });
  expect(renamed).toMatchObject({ verdict: 'bad', cure: expect.stringContaining('name main') });
  // The same address, written otherwise.
  const slash = { WALLET_BASE_URL: `${env['WALLET_BASE_URL']?.replace('http', 'HTTP')}/` };
  expect(await run(['sync', 'coins'], slash)).toMatchObject({ code: 0 });

  const elsewhere = { WALLET_BASE_URL: 'http://127.0.0.1:9/api' };
  const otherKey = { WALLET_API_KEY: 'another-key' };
  // Refused before rows are judged by them.
  const states = { WALLET_FINAL_STATES: 'success', WALLET_SUCCESS_STATES: 'success' };
  for (const change of [elsewhere, otherKey]) {
    for (const command of [['sync'], ['backfill'], ['verify', '--repair'], ['verify'], ['start']]) {
      const { code, stderr } = await run(command, { ...change, ...states });
      expect([command, code, stderr.trim().split('\n').length]).toEqual([command, 2, 1]);
      expect(stderr).toContain('another wallet');
      expect(stderr).toContain('migrate --wallet-key');
      expect(stderr).toContain('DATABASE_URL');
    }
    expect(await wallet(change)).toMatchObject({ verdict: 'bad' });
  }
  expect(await wallets()).toEqual([stored]);
  expect(await query("select from ledger.sync_runs where job <> 'coins'")).toEqual([]);
  const accepted = await run(['migrate', '--wallet-key'], elsewhere);
  expect([accepted.code, (await wallets())[0]?.['base_url']]).toEqual([
    0,
    'http://127.0.0.1:9/api',
  ]);
  expect(await run(['sync', 'coins'])).toMatchObject({ code: 2 });
  expect(await run(['migrate', '--wallet-key'])).toMatchObject({ code: 0 });
  expect(await run(['sync', 'coins'])).toMatchObject({ code: 0 });
}, 120_000);

const keys = { own: '11'.repeat(32), other: '22'.repeat(32) };

/** A ledger of the key `own`, with a pool; runs commands with other settings. */
async function openFilled(wallets?: string[]) {
  const { env, query } = await withService({ transactions: 20, ...(wallets && { wallets }) });
  const { WALLET_SIGNER, WALLET_API_KEY, ...rest } = env;
  const own = wallets
    ? env
    : { ...rest, WALLET_API_SECRET: keys.own, WALLET_BASE_URL: 'http://127.0.0.1:9/api' };
  await runProgram(['migrate', '--wallet-key'], own);
  await query(
    `insert into ledger.addresses (slip44, address, status, first_seen_at)
     select 60, '0x' || lpad(i::text, 40, '0'), 'available', now() from generate_series(1, 9) i`,
  );
  return { own, query };
}

/** Runs the commands, a few at a time; returns each with its end. */
async function each(commands: string[][], run: (args: string[]) => Promise<Ended>) {
  const ended: [string[], Ended][] = [];
  for (let first = 0; first < commands.length; first += 4)
    ended.push(
      ...(await Promise.all(
        commands
          .slice(first, first + 4)
          .map(async (args): Promise<[string[], Ended]> => [args, await run(args)]),
      )),
    );
  return ended;
}

const changing = [
  ['pool', 'take', '60', '--reference', 'x'],
  ['pool', 'adopt', '60', '--yes'],
  ['recover', '--same'],
  ['close', '2020-01'],
  ['rejects', 'retry'],
  ['feed', 'pause', 'shop'],
  ['feed', 'resume', 'shop'],
  ['feed', 'replay', 'shop', '--from', '1'],
];
const looking = [
  ['status'],
  ['status', '--json'],
  ['pool', 'list'],
  ['pool', 'adopt', '60'],
  ['show', 'nothing'],
  ['rejects'],
  ['recover'],
  ['close', 'list'],
  ['feed', 'list'],
  ['export', '--format', 'csv'],
];

test("another wallet's settings grant and publish nothing", async () => {
  const { own, query } = await openFilled();
  const other = { ...own, WALLET_API_SECRET: keys.other };
  for (const given of [
    ['--reader', 'stranger_reader'],
    ['--publication', 'stranger_publication'],
  ]) {
    const { code, stderr } = await runProgram(['migrate', ...given], other);
    expect([code, stderr]).toEqual([2, expect.stringContaining('belongs to another wallet')]);
  }
  expect(await query("select from pg_roles where rolname = 'stranger_reader'")).toEqual([]);
  expect(await query('select from pg_publication')).toEqual([]);
}, 60_000);

test("another wallet's settings change nothing in a ledger, and every command that shows it says whose it is not", async () => {
  const { own, query } = await openFilled();
  const run = (args: string[], change: Record<string, string>) =>
    runProgram(args, { ...own, ...change });
  const taken = () => query("select from ledger.addresses where status <> 'available'");
  const others = [
    { WALLET_API_SECRET: keys.other },
    { WALLET_BASE_URL: 'http://127.0.0.1:10/api' },
    // Names a wallet without its key.
    { WALLET_API_SECRET: '', WALLET_BASE_URL: 'http://127.0.0.1:10/api' },
  ];
  for (const change of others) {
    for (const [command, { code, stdout, stderr }] of await each(changing, (args) =>
      run(args, change),
    )) {
      expect([command, code, stdout]).toEqual([command, 2, '']);
      expect(stderr).toMatch(/^wallet-ledger: this ledger belongs to another wallet: .*\n$/);
      expect(stderr).not.toContain(keys.other);
    }
  }
  expect(await taken()).toEqual([]);
  const asOwner = new Map(await each(looking, (args) => run(args, {})));
  const asOther = await each(looking, (args) => run(args, others[0] ?? {}));
  for (const [command, { code, stdout, stderr }] of asOther) {
    const as = asOwner.get(command);
    expect([command, code]).toEqual([command, as?.code]);
    const said = stderr.split('\n').filter((line) => line.includes('another wallet'));
    expect([command, said]).toEqual([
      command,
      [expect.stringContaining('wallet-ledger: this ledger belongs to another wallet')],
    ]);
    expect(as?.stderr).not.toContain('another wallet');
    if (command.includes('--json')) JSON.parse(stdout);
  }
}, 120_000);

test('settings that name no wallet work as before, and those of the wallet itself take an address', async () => {
  const { own } = await openFilled();
  const { DATABASE_URL } = own;
  const bare = { DATABASE_URL: DATABASE_URL ?? '' };
  for (const [command, { code, stderr }] of await each(looking, (args) => runProgram(args, bare))) {
    expect([command, stderr]).toEqual([command, expect.not.stringContaining('another wallet')]);
    expect(code).toBe(command[0] === 'show' ? 3 : 0);
  }
  for (const env of [bare, own]) {
    const { code, stdout } = await runProgram(['pool', 'take', '60'], env);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^0x0+\d\n$/)]);
  }
}, 120_000);

test('of several wallets each command compares the one that it concerns, and names its command', async () => {
  const { own } = await openFilled(['eu', 'us']);
  for (const wallet of ['eu', 'us'])
    expect(await runProgram(['sync', 'coins', '--wallet', wallet], own)).toMatchObject({ code: 0 });
  const wrong = { ...own, US__WALLET_API_KEY: 'another-key' };
  const close = (wallet: string) => runProgram(['close', '2020-01', '--wallet', wallet], wrong);
  expect((await close('eu')).code).not.toBe(2);
  expect(await close('us')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('migrate --wallet-key --wallet us'),
  });
  expect(await runProgram(['recover', '--same'], wrong)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('migrate --wallet-key --wallet us'),
  });
  const { stderr } = await runProgram(['status'], wrong);
  expect(stderr.match(/belongs to another wallet/g)).toHaveLength(1);
}, 120_000);
