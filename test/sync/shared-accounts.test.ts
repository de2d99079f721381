import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { mirrorPools, takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { createTicketSource } from '../../src/ledger/ticket-source.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { makeClient } from '../support/make-client.ts';
import { startScriptedService } from '../support/scripted-service.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withLedger } from '../support/with-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { ledger, query, clear } = await withLedger();
const patiently = { signal: new AbortController().signal, whenBusy: 'wait' as const };
const evm = (number: number) => `0x${number.toString(16).padStart(40, '0')}`;

beforeEach(() => clear());

/**
 * A service whose chains 60 and 614 derive the n-th address from one key; chain 195 has its own texts. `isMirror`:
 * each account created on one of the two chains is also an account of the other, and both lists show it.
 */
async function withAccounts({ isMirror }: { isMirror: boolean }) {
  const service = await startScriptedService();
  onTestFinished(() => service.close());
  const made = new Map<number, number>();
  const keyOf = (slip44: number) => (isMirror && slip44 === 614 ? 60 : slip44);
  const countOf = (slip44: number) => made.get(keyOf(slip44)) ?? 0;
  const textOf = (slip44: number, place: number) => evm(slip44 === 195 ? 900_000 + place : place);
  function make(slip44: number, num: number): string[] {
    const first = countOf(slip44) + 1;
    made.set(keyOf(slip44), first + num - 1);
    return Array.from({ length: num }, (_, n) => textOf(slip44, first + n));
  }
  const rows = (addresses: string[]) => addresses.map((address) => ({ address }));
  service.answer(({ method, url, body }) => {
    if (method === 'POST') {
      const { slip44, num } = JSON.parse(body) as { slip44: number; num: number };
      return { code: 0, msg: '', data: rows(make(slip44, num)) };
    }
    if (url.pathname.endsWith('/coin')) return { code: 0, msg: '', data: [] };
    const slip44 = Number(url.searchParams.get('slip44'));
    const [pageNo, pageSize] = ['pageNo', 'pageSize'].map((name) =>
      Number(url.searchParams.get(name)),
    ) as [number, number];
    const all = Array.from({ length: countOf(slip44) }, (_, n) => textOf(slip44, n + 1));
    const list = rows(all.slice((pageNo - 1) * pageSize, pageNo * pageSize));
    return { code: 0, msg: '', data: { pageNo, pageSize, totalSize: all.length, list } };
  });
  const tickets = createTicketSource(ledger, { maxRps: null, nonceUnit: 'ms' });
  const { client } = await makeClient(service.baseUrl, { tickets });
  const contextOf = async (chains: number[]) => {
    await mirrorPools(
      ledger,
      chains.map((slip44) => ({ slip44, threshold: 3, target: 5 })),
    );
    return toolsOver({ ledger, client }, { chains, pools: { settleMs: 50, maxPerDay: 10_000 } });
  };
  return { make, contextOf };
}

async function take(slip44: number, count: number): Promise<(string | null)[]> {
  const taken: (string | null)[] = [];
  for (let n = 0; n < count; n += 1)
    taken.push(await takeAddress(ledger.db, slip44, `customer ${slip44}-${n} of ${Math.random()}`));
  return taken;
}

/** Backdates everything seen so far. */
const age = (interval: string) =>
  query(`update ledger.addresses set first_seen_at = first_seen_at - interval '${interval}'`);

test('an address that another program generated on another chain is set aside, and handed out on no chain', async () => {
  const { make, contextOf } = await withAccounts({ isMirror: false });
  await fillPools(await contextOf([60, 195]), patiently);
  await age('1 hour');
  const foreign = make(614, 3);
  const context = await contextOf([60, 195, 614]);
  await syncAddresses(context, onePass());
  expect(
    await query(
      `select slip44, status from ledger.addresses where address = '${foreign[0]}' order by 1`,
    ),
  ).toEqual([
    { slip44: 60, status: 'foreign' },
    { slip44: 614, status: 'foreign' },
  ]);
  await fillPools(context, patiently);
  const taken = await take(60, 3);
  expect(taken.filter((address) => address === null || foreign.includes(address))).toEqual([]);
});

test('a generated address waits while another chain may list it late', async () => {
  const { make, contextOf } = await withAccounts({ isMirror: false });
  await fillPools(await contextOf([60, 195]), patiently);
  const foreign = make(614, 3);
  await syncAddresses(await contextOf([60, 195, 614]), onePass());
  const [first, second, third] = await take(60, 3);
  expect([first, second].filter((address) => foreign.includes(String(address)))).toEqual([]);
  expect(third).toBeNull();
  await age('1 hour');
  expect(await take(60, 1)).toEqual([null]);
  expect(
    await query(
      `select count(*)::int as n from ledger.addresses where slip44 = 60 and status = 'foreign'`,
    ),
  ).toEqual([{ n: 3 }]);
});

test('an address of an answer is not stored if another program has generated it on another chain meanwhile', async () => {
  const { make, contextOf } = await withAccounts({ isMirror: false });
  const context = await contextOf([60, 195, 614]);
  await fillPools(context, patiently);
  const foreign = make(614, 6);
  await query(`update ledger.streams set last_success_at = last_success_at - interval '5 minutes'`);
  await take(60, 4);
  await fillPools(context, patiently);
  const taken = await take(60, 3);
  expect(taken.filter((address) => foreign.includes(String(address)))).toEqual([]);
});

test('if the service shows each account on both chains, its addresses are handed out', async () => {
  const { contextOf } = await withAccounts({ isMirror: true });
  const context = await contextOf([60, 195, 614]);
  await fillPools(context, patiently);
  await syncAddresses(context, onePass());
  const of60 = await take(60, 5);
  expect(new Set(of60).size).toBe(5);
  expect(of60).not.toContain(null);
  await age('1 hour');
  await fillPools(context, patiently);
  await syncAddresses(context, onePass());
  const both = [...(await take(60, 4)), ...(await take(614, 4))];
  expect(both).not.toContain(null);
  expect(new Set([...of60, ...both]).size).toBe(13);
});
