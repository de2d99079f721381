import { expect, test } from 'vitest';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { onePass, type Wallet, withWallet } from '../support/with-wallet.ts';

const asking = onePass({ ifLeased: 'ask', sliceMs: 200, effort: 'daemon' });

/** A wallet whose deposits were read once, and are being read by a pass that never ends. */
async function withBusyList(options: Parameters<typeof withWallet>[0]) {
  const wallet = await withWallet({ transactions: 300, ...options });
  await syncTransactions(wallet.context, onePass());
  await wallet.query(
    `update ledger.streams set lease_owner = '${wallet.ledger.instance} other', lease_until = now() + interval '1 hour'
      where name = 'deposit'`,
  );
  wallet.sandbox.stats.reset();
  return wallet;
}

async function isHeld({ query }: Wallet) {
  const [row] = await query(`select lease_owner from ledger.streams where name = 'deposit'`);
  return String(row?.['lease_owner']).endsWith(' other');
}

test('a new row does not wait for the pass that reads its list: it costs one page, and the list stays with that pass', async () => {
  const wallet = await withBusyList({});
  const [orderNo] = wallet.sandbox.world.addTransactions(1, { type: 'deposit' });
  expect(await syncTransactions(wallet.context, asking, ['deposit'])).toMatchObject({
    rowsInserted: 1,
  });
  expect(
    await wallet.query(`select order_no from ledger.transactions where order_no = '${orderNo}'`),
  ).toHaveLength(1);
  expect(wallet.sandbox.stats.listRequests.deposit).toBe(1);
  expect(await isHeld(wallet)).toBe(true);
});

test('a first page of new rows alone is left to the next pass, which would take it for the last one of them', async () => {
  const wallet = await withBusyList({});
  wallet.sandbox.world.addTransactions(250, { type: 'deposit' });
  expect(
    await syncTransactions(wallet.context, { ...asking, signal: AbortSignal.timeout(60_000) }, [
      'deposit',
    ]),
  ).toMatchObject({
    rowsInserted: 0,
  });
  await wallet.query(`update ledger.streams set lease_owner = null`);
  expect(await syncTransactions(wallet.context, onePass())).toMatchObject({
    isComplete: true,
    rowsInserted: 250,
  });
});

test('nothing is asked of a list that begins with its oldest rows', async () => {
  const wallet = await withBusyList({ listOrder: 'oldest-first' });
  await syncTransactions(wallet.context, asking, ['deposit']);
  expect(wallet.sandbox.stats.listRequests.deposit).toBe(0);
});
