import { afterAll, expect, test } from 'vitest';
import { isBeingRepaired } from '../../src/ledger/lists/verify-store.ts';
import { verifyLedger } from '../../src/sync/checks/verify-ledger.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { startListingService } from '../support/listing-service.ts';
import { makeClient } from '../support/make-client.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withLedger } from '../support/with-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { ledger, query, clear } = await withLedger();
const service = await startListingService();
afterAll(() => service.close());
service.twist = (page) => ({ ...page, totalSize: null });

const { client } = await makeClient(service.baseUrl);
const context = toolsOver({ ledger, client });
const now = Date.now();
const pass = () => syncTransactions(context, onePass({ effort: 'daemon' }), ['deposit']);

test.each([true, false])(
  'after a repair a list without a total has its own reason for being incomplete again, at once or after the next pass: ended %s',
  async (isEnded) => {
    await clear();
    const rows = Array.from({ length: 330 }, (_, nth) => ({
      ...{ orderNo: `order-${nth}`, amount: '1', type: 'deposit', state: 'success' },
      time: now - nth * 60_000,
    }));
    service.lists.set(
      'deposit',
      rows.map((row) => JSON.stringify(row)),
    );
    for (const _ of [1, 2, 3]) await pass();
    await query(`update ledger.transactions set amount = 2 where order_no = 'order-7'`);
    const { signal } = new AbortController();
    const [compared] = await verifyLedger(context, { signal, isRepair: true });
    expect(compared).toMatchObject({ repaired: 1 });
    if (!isEnded) {
      await query(`update ledger.streams set doubt = '${isBeingRepaired}'`);
      await pass();
    }
    const reasons = await query(
      `select doubt, not_complete_because as because from ledger.streams where name = 'deposit'`,
    );
    expect(reasons).toEqual([{ doubt: null, because: 'the service gives no usable total' }]);
  },
);
