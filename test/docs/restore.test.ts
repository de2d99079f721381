import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { acknowledgeMoves } from '../../src/ledger/accept-move.ts';
import { findContradictions, markHandedOut } from '../../src/ledger/addresses/handed-out-store.ts';
import { mirrorPools, takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { runParts } from '../../src/sync/sync-tasks.ts';
import { onePass, type Wallet, withWallet } from '../support/with-wallet.ts';

const slip44 = 60;
/** Triggers count rows of transactions in streams: that one comes last. */
const tables = ['addresses', 'address_requests', 'transactions', 'streams'];

async function backUp({ db }: Ledger): Promise<void> {
  for (const table of tables)
    await db.execute(sql.raw(`create table public.kept_${table} as table ledger.${table}`));
}

async function restore({ db }: Ledger): Promise<void> {
  for (const table of tables) {
    await db.execute(sql.raw(`delete from ledger.${table}`));
    const found = await db.execute<{ columns: string }>(sql`
      select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
       where table_schema = 'ledger' and table_name = ${table} and is_generated = 'NEVER'`);
    const columns = found.rows[0]?.columns ?? '';
    if (table === 'streams') await db.execute(sql.raw('delete from ledger.streams'));
    await db.execute(
      sql.raw(
        `insert into ledger.${table} (${columns}) overriding system value select ${columns} from public.kept_${table}`,
      ),
    );
  }
}

async function fill({ context }: Wallet): Promise<void> {
  const { signal } = new AbortController();
  await fillPools(context, { signal, whenBusy: 'wait', force: true });
}

async function takeSome(wallet: Wallet, references: string[]): Promise<Map<string, string>> {
  const taken = new Map<string, string>();
  for (const reference of references) {
    const address = await takeAddress(wallet.ledger.db, slip44, reference);
    if (address !== null) taken.set(reference, address);
  }
  expect(taken.size).toBe(references.length);
  return taken;
}

async function openPool(): Promise<Wallet> {
  const wallet = await withWallet(
    { transactions: 100, addressesPerChain: 10 },
    { chains: [slip44], pools: { settleMs: 0, maxPerDay: 1_000 } },
  );
  await mirrorPools(wallet.ledger, [{ slip44, threshold: 10, target: 20 }]);
  await syncTransactions(wallet.context, onePass());
  await syncAddresses(wallet.context, onePass());
  await fill(wallet);
  return wallet;
}

const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

test('[S18 D3] after a restore by the book no address that was handed out is handed out again', async () => {
  const wallet = await openPool();
  const { ledger, context } = wallet;
  const before = await takeSome(wallet, named('before', 3));
  // The worst moment: a request is open, and its answer will be looked for in the list.
  await ledger.db.execute(sql`
    insert into ledger.address_requests (slip44, num, state, requested_at, owner)
    values (${slip44}, 20, 'sent', now(), 'a daemon that is gone')`);
  await backUp(ledger);
  await ledger.db.execute(sql`delete from ledger.address_requests where state = 'sent'`);
  const after = await takeSome(wallet, named('after', 10));
  // An application's list may have gaps.
  const forgotten = [...(await takeSome(wallet, named('forgotten', 5))).values()];
  await fill(wallet);
  const late = await takeSome(wallet, named('late', 3));
  forgotten.push(...(await takeSome(wallet, named('late-forgotten', 5))).values());
  wallet.sandbox.world.addTransactions(5, { type: 'deposit' });
  await restore(ledger);

  await expect(takeAddress(ledger.db, slip44, 'other')).rejects.toMatchObject({
    cause: { code: 'WL001' },
  });
  await runParts(context, ['transactions', 'addresses', 'pools'], onePass());
  const handedOut = new Map([...before, ...after, ...late]);
  const list = [...handedOut].map(([reference, address], index) => ({
    line: index + 1,
    slip44,
    address,
    reference,
  }));
  await ledger.transaction(async (db) => {
    expect(await findContradictions(db, list)).toEqual([]);
    await markHandedOut(db, list);
    await acknowledgeMoves(db, ['main']);
  });
  await fill(wallet);
  const fresh = await takeSome(wallet, named('new', 20));
  const old = new Set([...handedOut.values(), ...forgotten]);
  expect([...fresh.values()].filter((address) => old.has(address))).toEqual([]);
  const again = await takeSome(wallet, [...handedOut.keys()]);
  expect(again).toEqual(handedOut);
}, 60_000);

test('without a word from anyone nothing is handed out twice, and the problem stands', async () => {
  const wallet = await openPool();
  await backUp(wallet.ledger);
  const after = await takeSome(wallet, named('after', 5));
  await restore(wallet.ledger);
  await runParts(wallet.context, ['addresses', 'pools'], onePass());
  const fresh = await takeSome(wallet, named('other', 5));
  expect([...fresh.values()].filter((one) => [...after.values()].includes(one))).toEqual([]);
  const { rows } = await wallet.ledger.db.execute(
    sql`select severity from ledger.problems where name = 'database_moved'`,
  );
  expect(rows).toEqual([{ severity: 'warning' }]);
}, 60_000);
