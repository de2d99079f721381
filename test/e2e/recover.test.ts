import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { withService } from '../support/with-service.ts';

function fileOf(text: string): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'handed-out.csv'), text);
  return join(folder, 'handed-out.csv');
}

test('without a schema, recover names the command that makes it', async () => {
  const { env } = await withService({ transactions: 0 }, { isMigrated: false });
  const none = await runProgram(['recover'], env);
  expect([none.code, none.stderr]).toEqual([5, expect.stringContaining('wallet-ledger migrate')]);
}, 60_000);

async function openMoved() {
  const { env, query } = await withService({ transactions: 0 });
  const recover = (...args: string[]) => runProgram(['recover', ...args], env);
  await query(`insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, first_deposit_order_no, first_seen_at)
    select 60, '0xA' || n, case n when 1 then 'assigned' when 2 then 'used' when 3 then 'foreign' else 'available' end,
           case n when 1 then 'customer-1' end, case n when 1 then now() end, case n when 2 then 'd' end, now()
      from generate_series(1, 6) n`);
  expect(await recover()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('has not moved'),
  });
  await query(`select engine.disturb_home('a snapshot was put back')`);
  const rows = async () =>
    (await query(`select address, status, assigned_to from ledger.addresses order by 1`)).map(
      (row) => `${row['address']} ${row['status']} ${row['assigned_to'] ?? '-'}`,
    );
  const problems = async () =>
    (await query(`select severity from ledger.problems where name = 'database_moved'`)).map(
      ({ severity }) => severity,
    );
  return { env, query, recover, rows, problems };
}

test('what was handed out is marked, the rest is set aside, and the problem ends', async () => {
  const { recover, rows, problems } = await openMoved();
  const found = await recover();
  expect([found.code, found.stdout]).toEqual([
    3,
    expect.stringContaining('a snapshot was put back'),
  ]);
  expect(await problems()).toEqual(['critical']);
  const file = fileOf(
    'slip44,address,reference\n60,0xA1,customer-1\n60,0xa2,customer-2\n60,0xA3,"customer, 3"\n60,0xA4,\n',
  );
  const done = await recover('--handed-out', file);
  expect([done.code, done.stderr]).toEqual([0, expect.stringContaining('3 addresses were marked')]);
  expect(await rows()).toEqual([
    '0xA1 assigned customer-1',
    '0xA2 used customer-2',
    '0xA3 assigned customer, 3',
    '0xA4 assigned -',
    '0xA5 foreign -',
    '0xA6 foreign -',
  ]);
  expect(await problems()).toEqual([]);
  // Once more: nothing changes.
  expect(await recover('--handed-out', file)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('0 addresses were marked'),
    stdout: expect.stringMatching(
      /^there is nothing to do; .*\n\S+: a snapshot was put back; recovered at \S+: 3 available addresses were set aside/,
    ),
  });
}, 60_000);

test('one line that does not fit leaves everything as it was, and every such line is named', async () => {
  const { recover, rows } = await openMoved();
  const before = await rows();
  const bad = await recover(
    '--handed-out',
    fileOf(
      '60,0xA4,good\n60,0xA1,another\n60,0xA5,customer-1\n60,0xFF,lost\n60,0xA6,twice\n60,0xA6,thrice\n60,0xA3,good\n',
    ),
  );
  expect(bad.code).toBe(2);
  for (const words of [
    'line 2: 0xA1 is assigned to customer-1, and the file says another',
    'line 4: chain 60 has no address 0xFF',
    'line 6: 0xA6 is given to thrice here, and to twice on line 5',
    '3 lines of the CSV file cannot be used; nothing was written',
  ])
    expect(bad.stderr).toContain(words);
  expect(await rows()).toEqual(before);
  expect(await recover()).toMatchObject({ code: 3 });
  expect(await recover('--handed-out', '/nowhere.csv')).toMatchObject({ code: 2 });
  expect(await recover('--same', '--wallet', 'another')).toMatchObject({ code: 2 });
  for (const empty of ['', 'slip44,address,reference\n'])
    expect(await recover('--handed-out', fileOf(empty))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('names no address; nothing was written'),
    });
  expect(await recover()).toMatchObject({ code: 3 });
}, 60_000);

test('after a clean move all comes back; with a file the rest does', async () => {
  const { recover, rows, problems, query } = await openMoved();
  expect(await recover('--same', '--json')).toMatchObject({ code: 0 });
  expect((await rows()).filter((row) => row.includes('available'))).toHaveLength(3);
  expect(await problems()).toEqual([]);
  await query(`select engine.disturb_home('once more')`);
  const both = await recover('--handed-out', fileOf('60,0xA6,customer-6\n'), '--same', '--json');
  expect(JSON.parse(both.stdout)).toEqual({ away: null, moves: [] });
  expect((await rows()).slice(3)).toEqual([
    '0xA4 available -',
    '0xA5 available -',
    '0xA6 assigned customer-6',
  ]);
}, 60_000);

test('a clean move frees nothing while an earlier one, after whose backup customers got addresses, is not recorded', async () => {
  const { env, recover, rows, query } = await openMoved();
  await runProgram(['sync', 'coins'], { ...env, ON_MOVE: 'heal' });
  const healed = await rows();
  expect(healed.slice(3)).toEqual(['0xA4 foreign -', '0xA5 foreign -', '0xA6 foreign -']);
  await query(`select engine.disturb_home('a planned switch')`);
  expect((await recover()).stdout).toContain('recover --same --every-move');
  const refused = await recover('--same');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(
      /a snapshot was put back; recovered at \S+: 3 available addresses were set aside.*\n.*a planned switch; not recovered yet[\s\S]*confirms one move, and the 2 moves above[\s\S]*--handed-out FILE/,
    ),
  ]);
  expect(await rows()).toEqual(healed);
  expect(await recover()).toMatchObject({ code: 3 });
  expect(await recover('--same', '--handed-out', fileOf('60,0xA4,B\n'))).toMatchObject({ code: 2 });
  expect(await recover('--handed-out', fileOf('60,0xA4,B\n'))).toMatchObject({ code: 0 });
  expect((await rows()).slice(3)).toEqual(['0xA4 assigned B', '0xA5 foreign -', '0xA6 foreign -']);
  // The earlier moves are recorded: the next one is alone.
  await query(`select engine.disturb_home('another planned switch')`);
  expect(await recover('--same')).toMatchObject({ code: 0 });
  expect((await rows()).slice(3)).toEqual(['0xA4 assigned B', '0xA5 foreign -', '0xA6 foreign -']);
}, 120_000);

test('no foreign address is adopted before the move is recorded: customers may have what it set aside', async () => {
  const { env, recover, rows } = await openMoved();
  const adopt = (...args: string[]) => runProgram(['pool', 'adopt', '60', ...args], env);
  const away = await rows();
  const refused = {
    code: 3,
    stderr: expect.stringMatching(/may have it; .*wallet-ledger recover/),
  };
  expect(await adopt('--yes')).toMatchObject(refused);
  await runProgram(['sync', 'coins'], { ...env, ON_MOVE: 'heal' });
  const healed = await rows();
  expect(healed).not.toEqual(away);
  expect(await adopt()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^0xA3(?!.*set aside).*\n(0xA[456] .*set aside .*recover`\n){3}$/,
    ),
    stderr: expect.stringMatching(/: 0 of 4 foreign .*`wallet-ledger recover` first/),
  });
  expect(await adopt('--yes')).toMatchObject(refused);
  expect(await adopt('0xA4', '--yes')).toMatchObject(refused);
  expect(await rows()).toEqual(healed);
  expect(await recover('--handed-out', fileOf('60,0xA4,B\n'))).toMatchObject({ code: 0 });
  expect(await adopt('0xA5', '--yes')).toMatchObject({ code: 0 });
  expect((await rows()).slice(3)).toEqual([
    '0xA4 assigned B',
    '0xA5 available -',
    '0xA6 foreign -',
  ]);
}, 120_000);

test('several moves in which nothing was lost are recorded together, if the operator says so of each', async () => {
  const { env, recover, rows, query } = await openMoved();
  await runProgram(['sync', 'coins'], { ...env, ON_MOVE: 'heal' });
  await query(`select engine.disturb_home('a planned switch')`);
  expect(await recover('--same', '--every-move')).toMatchObject({ code: 0 });
  expect((await rows()).slice(3)).toEqual([
    '0xA4 available -',
    '0xA5 available -',
    '0xA6 available -',
  ]);
}, 60_000);

test('while a move is not recorded for every wallet, it ends with 3 and names the wallet', async () => {
  const { recover, problems, query } = await openMoved();
  await query(`insert into ledger.addresses (wallet, slip44, address, status, first_seen_at)
    values ('us', 60, '0xB1', 'available', now())`);
  const half = await recover('--same');
  expect([half.code, half.stdout]).toEqual([
    3,
    expect.stringMatching(/not recorded yet for us[\s\S]*WALLETS does not name us/),
  ]);
  expect(await recover()).toMatchObject({ code: 3 });
  expect(await problems()).not.toEqual([]);
  await query(`delete from ledger.addresses where wallet = 'us'`);
  expect(await recover('--same')).toMatchObject({ code: 0 });
}, 60_000);

test('with ON_MOVE=stop, a pass over the pools of a moved database ends with 3, also while they are full', async () => {
  const { env } = await openMoved();
  const stop = { ...env, ON_MOVE: 'stop', ADDRESS_POOLS: '60:1:2', POOL_SETTLE: '0s' };
  for (const command of [
    ['sync', 'pools'],
    ['pool', 'refill'],
  ]) {
    const { code, stderr } = await runProgram(command, stop);
    expect([command, code, stderr]).toEqual([command, 3, expect.stringContaining('status')]);
  }
  expect(await runProgram(['recover', '--same'], stop)).toMatchObject({ code: 0 });
  expect(await runProgram(['sync', 'pools'], stop)).toMatchObject({ code: 0 });
}, 120_000);
