import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { mirrorPools } from '../../src/ledger/addresses/pool-store.ts';
import { createTicketSource } from '../../src/ledger/ticket-source.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { makeClient } from '../support/make-client.ts';
import { startScriptedService } from '../support/scripted-service.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withLedger } from '../support/with-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { ledger, query, clear } = await withLedger();
const signal = new AbortController().signal;
const patiently = { signal, whenBusy: 'wait' as const, chains: [60] };

beforeEach(() => clear());

type Named = (made: string[], of61: string[]) => string[];

/** A service that lists ten addresses of chain 61. `named`: its answer after it generated addresses for chain 60. */
async function withService({ named, isListed = true }: { named: Named; isListed?: boolean }) {
  const service = await startScriptedService();
  onTestFinished(() => service.close());
  const of = (slip44: number, n: number) =>
    `0x${(slip44 * 1_000 + n).toString(16).padStart(40, '0')}`;
  const lists = new Map([[61, Array.from({ length: 10 }, (_, n) => of(61, n))]]);
  const rows = (addresses: string[]) => addresses.map((address) => ({ address }));
  service.answer(({ method, url, body }) => {
    if (method === 'POST') {
      const { slip44, num } = JSON.parse(body) as { slip44: number; num: number };
      const before = lists.get(slip44) ?? [];
      const made = Array.from({ length: num }, (_, n) => of(slip44, before.length + n));
      const answer = named(made, lists.get(61) ?? []);
      if (isListed) lists.set(slip44, [...before, ...made]);
      return { code: 0, msg: '', data: rows(answer) };
    }
    if (url.pathname.endsWith('/coin')) return { code: 0, msg: '', data: [] };
    const all = lists.get(Number(url.searchParams.get('slip44'))) ?? [];
    const [pageNo = 1, pageSize = 1] = ['pageNo', 'pageSize'].map((name) =>
      Number(url.searchParams.get(name)),
    );
    const list = rows(all.slice((pageNo - 1) * pageSize, pageNo * pageSize));
    return { code: 0, msg: '', data: { pageNo, pageSize, totalSize: all.length, list } };
  });
  const tickets = createTicketSource(ledger, { maxRps: null, nonceUnit: 'ms' });
  const { client } = await makeClient(service.baseUrl, { tickets });
  const context = toolsOver(
    { ledger, client },
    { chains: [60, 61], pools: { settleMs: 50, maxPerDay: 10_000 } },
  );
  await mirrorPools(ledger, [{ slip44: 60, threshold: 4, target: 4 }]);
  await syncAddresses(context, onePass());
  const posts = () => service.seen.filter(({ method }) => method === 'POST').length;
  return { context, posts };
}

const of60 = () =>
  query(`select status, count(*)::int as n, bool_and(exists (select from ledger.addresses o
           where o.slip44 = 61 and o.address_key = a.address_key)) as is_of_61
           from ledger.addresses a where slip44 = 60 group by status order by status`);

test('[A4] if an answer has addresses of another chain, only addresses that the list of the requested chain shows join the pool', async () => {
  const { context, posts } = await withService({
    named: (made, of61) => of61.slice(0, made.length),
  });
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(posts()).toBe(1);
  expect(await of60()).toEqual([{ status: 'available', n: 4, is_of_61: false }]);
  expect(await query('select state, received, error from ledger.address_requests')).toEqual([
    {
      state: 'done',
      received: 4,
      error:
        'the answer named addresses of other chains that the list of this one does not show; the list shows 4 new addresses of 4',
    },
  ]);
  const stream = await query(`select is_complete from ledger.streams where name = 'addresses:60'`);
  expect(stream).toEqual([{ is_complete: true }]);
});

test('[A4] if an answer has some addresses of another chain, only those that the list shows join the pool', async () => {
  const { context } = await withService({
    named: (made, of61) => [...made.slice(1), of61[0] ?? ''],
  });
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(await of60()).toEqual([{ status: 'available', n: 4, is_of_61: false }]);
});

test('[A4 A8] a service that answers with addresses of another chain and lists none is not requested to generate again and again', async () => {
  const { context, posts } = await withService({
    named: (made, of61) => of61.slice(0, made.length),
    isListed: false,
  });
  // A list that has never shown an address says nothing about the chain filter.
  await query(
    `update ledger.pools set chain_filter = 'works', chain_filter_at = now(), chain_param = 'slip44'`,
  );
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(posts()).toBe(1);
  expect(await of60()).toEqual([]);
});
