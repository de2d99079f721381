import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('show finds an order by its number, request id and hash, and an address in any spelling with its customer', async () => {
  const { sandbox, env, query } = await withService({ transactions: 60, addressesPerChain: 5 });
  const settings = { ...env, ADDRESS_POOLS: '60:2:4', POOL_SETTLE: '0s' };
  expect((await runProgram(['sync'], settings)).code).toBe(0);
  const address = (
    await runProgram(['pool', 'take', '60', '--reference', 'customer 7'], settings)
  ).stdout.trim();
  const orderNo = 'paid-in-1';
  const hash = `0x${'ab'.repeat(32)}`;
  sandbox.world.addRawListRow('deposit', {
    orderNo,
    requestId: 'request-1',
    symbol: 'ETH',
    txHash: hash,
    fromAddress: '0x00000000000000000000000000000000000000aa',
    toAddress: address,
    amount: '1.50',
    type: 'deposit',
    state: 'success',
    time: Date.now(),
  });
  await runProgram(['sync', 'transactions'], settings);
  await query(`insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
    values ('${orderNo}', '2026-03-01T11:00:00Z', 'state', 'pending', E'suc\\u001b[2Jcess')`);

  const ask = async (text: string) => {
    const { code, stdout } = await runProgram(['show', text, '--json'], settings);
    return { code, found: JSON.parse(stdout) };
  };
  const byOrder = await ask(orderNo);
  expect(byOrder.code).toBe(0);
  expect(byOrder.found.transactions).toMatchObject([
    {
      ...{ orderNo, requestId: 'request-1', txHash: hash, amount: '1.50', stream: 'deposit' },
      ...{ isFinal: true, isSuccess: true, isListed: true },
      changes: [{ field: 'state', oldValue: 'pending', observedAt: '2026-03-01T11:00:00.000Z' }],
      addresses: [{ slip44: 60, address, status: 'used', assignedTo: 'customer 7' }],
      notCertain: expect.arrayContaining(['its detail has not been fetched yet']),
    },
  ]);
  for (const text of ['request-1', hash, hash.toUpperCase().replace('0X', '0x')])
    expect((await ask(text)).found.transactions).toMatchObject([{ orderNo }]);
  const byAddress = await ask(address.toUpperCase().replace('0X', '0x'));
  expect(byAddress.found.addresses).toMatchObject([{ address, assignedTo: 'customer 7' }]);
  expect(byAddress.found.transactions).toMatchObject([{ orderNo }]);
  expect(
    (await ask('0x00000000000000000000000000000000000000AA')).found.transactions,
  ).toMatchObject([{ orderNo }]);

  await query(`insert into ledger.transactions (order_no, stream, state, observation) values
    (' lead', 'deposit', 'pending', 1), ('lead', 'deposit', 'pending', 1)`);
  for (const lead of [' lead', 'lead'])
    expect((await ask(lead)).found.transactions).toMatchObject([{ orderNo: lead }]);
  expect((await ask(' lead ')).found.transactions).toMatchObject([{ orderNo: 'lead' }]);

  const shown = await runProgram(['show', orderNo], settings);
  expect(shown.stdout).toMatch(
    /^deposit paid-in-1\n {2}amount +1\.50 ETH\n {2}chain +60\n {2}state +success \(final/,
  );
  expect(shown.stdout).toMatch(/address +chain 60, used to customer 7 at 20/);
  expect(shown.stdout).toContain('! its detail has not been fetched yet');
  expect(shown.stdout).not.toContain('\u001b');

  const nothing = await runProgram(['show', 'nowhere', '--json'], settings);
  expect(nothing).toMatchObject({ code: 3, stderr: expect.stringContaining('nowhere') });
  expect(JSON.parse(nothing.stdout)).toMatchObject({ transactions: [], addresses: [] });
  expect((await runProgram(['show', ' '], settings)).code).toBe(2);
}, 120_000);

test('show names what is not certain, and serves a role that may only read', async () => {
  const { sandbox, env, query } = await withService({ transactions: 60 });
  sandbox.world.addRawListRow('deposit', {
    orderNo: 'odd-amount',
    toAddress: 'somewhere',
    amount: 'NaN',
    type: 'deposit',
    state: 'pending',
    time: Date.now(),
  });
  await runProgram(['backfill', '--no-details'], env);
  const role = `shown_${process.pid}_${Date.now()}`;
  await query(`create role ${role} login password 'shown'`);
  onTestFinished(async () => {
    await query(`drop owned by ${role}; drop role ${role}`);
  });
  expect((await runProgram(['migrate', '--reader', role], env)).code).toBe(0);
  const url = new URL(env['DATABASE_URL'] ?? '');
  url.username = role;
  url.password = 'shown';
  const asReader = { ...env, DATABASE_URL: url.href };
  const { code, stdout } = await runProgram(['show', 'odd-amount', '--json'], asReader);
  expect(code).toBe(0);
  const doubts: string[] = JSON.parse(stdout).transactions[0].notCertain;
  expect(doubts).toEqual(
    expect.arrayContaining([
      'the state pending is not final',
      'its detail has not been fetched yet',
      expect.stringMatching(/^amount could not be decoded/),
      'its address is not in the ledger',
    ]),
  );
  expect((await runProgram(['show', 'nowhere'], asReader)).code).toBe(3);
}, 120_000);
