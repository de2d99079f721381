import { expect, onTestFinished, test } from 'vitest';
import { resolveRequest } from '../../src/ledger/addresses/resolve-request.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { makeClient } from '../support/make-client.ts';
import { startScriptedService } from '../support/scripted-service.ts';
import { until } from '../support/until.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

test('addresses from before are foreign, or used if a deposit went to them, and an unchanged list costs one request', async () => {
  const { sandbox, context, query } = await withWallet(
    { transactions: 300, addressesPerChain: 1_500 },
    { chains: [60, 195] },
  );
  await syncTransactions(context, onePass());
  expect(await syncAddresses(context, onePass())).toMatchObject({
    isComplete: true,
    rowsInserted: 3_000,
  });
  const rows = await query(`
    select a.status, count(*)::int as n,
           bool_and(exists (select from ledger.transactions t where t.stream = 'deposit' and t.state = 'success' and t.to_address = a.address)) as has_deposit,
           bool_or(exists (select from ledger.transactions t where t.stream = 'deposit' and t.state = 'success' and t.to_address = a.address)) as any_deposit
      from ledger.addresses a group by status order by status`);
  expect(rows.map((row) => row.status)).toEqual(['foreign', 'used']);
  expect(rows[0]).toMatchObject({ any_deposit: false });
  expect(rows[1]).toMatchObject({ has_deposit: true });
  sandbox.stats.reset();
  expect((await syncAddresses(context, onePass())).isComplete).toBe(true);
  expect(sandbox.stats.requests['/v1/wallet/address/list']).toBe(2);
  const [streams] = await query(
    `select array_agg(name order by name) as names from ledger.streams where name like 'addresses:%'`,
  );
  expect(streams.names).toEqual(['addresses:195', 'addresses:60']);
});

test('a generated address is found at the growing end without reading the list again', async () => {
  const { sandbox, context } = await withWallet(
    { transactions: 10, addressesPerChain: 2_000 },
    { chains: [60] },
  );
  await syncAddresses(context, onePass());
  sandbox.world.generateAddresses(60, 5);
  sandbox.stats.reset();
  expect(await syncAddresses(context, onePass())).toMatchObject({
    isComplete: true,
    rowsInserted: 5,
  });
  expect(sandbox.stats.requests['/v1/wallet/address/list']).toBeLessThanOrEqual(3);
});

test('an address whose page was requested before an address request is not its answer, even if it is stored later', async () => {
  const { sandbox, context, ledger, query } = await withWallet(
    { transactions: 10, addressesPerChain: 20 },
    { chains: [60] },
  );
  await syncAddresses(context, onePass());
  sandbox.world.generateAddresses(60, 1);
  const id = { ofRequest: 0 };
  // The page arrives, and a request is sent before it is stored.
  const listAddresses: typeof context.client.listAddresses = async (...asked) => {
    const page = await context.client.listAddresses(...asked);
    const [request] = await query(
      `insert into ledger.address_requests (slip44, num, state, requested_at) values (60, 1, 'unknown', now())
       on conflict do nothing returning id::int`,
    );
    id.ofRequest ||= request?.id ?? 0;
    return page;
  };
  const client = { ...context.client, listAddresses };
  expect(await syncAddresses({ ...context, client }, onePass())).toMatchObject({ rowsInserted: 1 });
  expect(await ledger.transaction((db) => resolveRequest(db, id.ofRequest))).toBe(0);
  expect(
    await query(`select count(*)::int as n from ledger.addresses where status = 'available'`),
  ).toEqual([{ n: 0 }]);
});

test.each([
  [
    'deleted',
    `delete from ledger.addresses where address_key in
    (select address_key from ledger.addresses order by address_key limit 2)`,
  ],
  ['emptied', 'truncate ledger.addresses'],
])(
  'a list whose rows were %s by hand is not complete until the rows are read again',
  async (_how, statement) => {
    const { context, query } = await withWallet(
      { transactions: 10, addressesPerChain: 300 },
      { chains: [60] },
    );
    const proof = () =>
      query(
        'select is_complete, ledger_count::int as n, service_total::int as total from ledger.streams',
      );
    await syncAddresses(context, onePass());
    expect(await proof()).toEqual([{ is_complete: true, n: 300, total: 300 }]);
    await query(statement);
    const [{ n }] = await query('select count(*)::int as n from ledger.addresses');
    expect(await proof()).toEqual([{ is_complete: false, n, total: 300 }]);
    await until(async () => (await syncAddresses(context, onePass())).isComplete);
    expect(await query('select count(*)::int as n from ledger.addresses')).toEqual([{ n: 300 }]);
    expect(await proof()).toEqual([{ is_complete: true, n: 300, total: 300 }]);
  },
);

test('a list that the service does not provide does not prevent the other lists from being read', async () => {
  const service = await startScriptedService();
  onTestFinished(() => service.close());
  service.answer(({ url }, response) => {
    if (url.searchParams.get('slip44') === '60') return void response.writeHead(503).end();
    const list = [{ address: `0x${'a'.repeat(40)}` }];
    return { code: 0, msg: '', data: { list, pageNo: 1, pageSize: 100, totalSize: 1 } };
  });
  const { context, query } = await withWallet({}, { chains: [60, 966] });
  const { client } = await makeClient(service.baseUrl);
  const reading = syncAddresses({ ...context, client }, onePass());
  await expect(reading).rejects.toMatchObject({ code: 'service-unreachable' });
  expect(await query('select slip44 from ledger.addresses')).toEqual([{ slip44: 966 }]);
});
