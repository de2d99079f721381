import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

const generate = '/v1/wallet/address';

test('[S16] nothing is generated where no pool is set, or the day’s budget is 0; each request leaves its row', async () => {
  const { sandbox, env, query } = await withService({ transactions: 30, addressesPerChain: 3 });
  const requests = async () =>
    (await query('select slip44, num, state, received from ledger.address_requests')).length;
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  expect((await runProgram(['sync'], env)).code).toBe(0);
  const none = await runProgram(['sync', 'pools'], {
    ...env,
    ADDRESS_POOLS: '60:5:20',
    POOL_MAX_PER_DAY: '0',
  });
  expect(none.code).toBe(3);
  expect([sandbox.stats.requests[generate], await requests()]).toEqual([0, 0]);

  const some = await runProgram(['sync', 'pools'], {
    ...env,
    ADDRESS_POOLS: '60:5:20',
    POOL_MAX_PER_DAY: '7',
  });
  expect(some.code).toBe(3);
  expect(sandbox.stats.requests[generate]).toBeGreaterThan(0);
  expect(await requests()).toBe(sandbox.stats.requests[generate]);
  expect(await query('select sum(received)::int as sum from ledger.address_requests')).toEqual([
    { sum: 7 },
  ]);
}, 60_000);

test('[S17] an address that was replaced by hand is named by verify, every time', async () => {
  const { env, query } = await withService({ transactions: 30, addressesPerChain: 3 });
  const settings = { ...env, ADDRESS_POOLS: '60:5:20' };
  expect((await runProgram(['sync'], settings)).code).toBe(0);
  expect((await runProgram(['verify'], settings)).code).toBe(0);
  const [tampered] = await query(`
    update ledger.addresses set address = '0xattacker'
     where ctid = (select ctid from ledger.addresses where status = 'available' limit 1)
    returning address`);
  expect(tampered).toEqual({ address: '0xattacker' });
  const verify = async (...options: string[]) => {
    const { code, stdout } = await runProgram(['verify', '--json', ...options], settings);
    const { streams } = JSON.parse(stdout) as {
      streams: { name: string; missing: string[]; extra: string[] }[];
    };
    const { missing = [], extra } = streams.find(({ name }) => name === 'addresses:60') ?? {};
    return { code, missing: missing.length, extra };
  };
  const extra = ['0xattacker'];
  expect(await verify()).toEqual({ code: 3, missing: 1, extra });
  // The true one comes back; the other one stays named, for a person to look at.
  expect(await verify('--repair')).toEqual({ code: 3, missing: 1, extra });
  expect(await verify()).toEqual({ code: 3, missing: 0, extra });
}, 60_000);
