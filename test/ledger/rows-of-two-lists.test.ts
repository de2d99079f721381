import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { dropUnseenGuests, noteKeys } from '../../src/ledger/lists/scan-notes-store.ts';
import { unlistRows } from '../../src/ledger/lists/stream-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { forAll } from '../support/for-all.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
afterEach(clear);

const lists = ['deposit', 'withdraw'] as const;
const orders = ['order-1', 'order-2'];
type List = (typeof lists)[number];
/** Types with which a list shows the orders. */
type Shown = Map<string, string>;

/** Reads the list from end to end, with the effect of two equal readings. */
async function readList(list: List, shown: Shown, observation: number): Promise<void> {
  const rows = [...shown].map(([orderNo, type]) => listed({ orderNo, type, observation }));
  await ledger.transaction(async (tx) => {
    await storeListedTransactions(tx, list, rows);
    await tx.execute(`delete from own.scan_notes where stream = '${list}'`);
    await noteKeys(tx, list, [...shown.keys()]);
    await dropUnseenGuests(tx, list);
    await unlistRows(
      tx,
      list,
      orders.filter((order) => !shown.has(order)),
    );
  });
}

/** Reads a list, or the details of all orders. */
async function readAt(observation: number, read: List | null, shown: Record<List, Shown>) {
  if (read !== null) return await readList(read, shown[read], observation);
  const details = orders.map((orderNo) => detailed({ orderNo, observation }));
  await storeTransactionDetails(ledger.db, details);
}

const changed = fc.record({
  list: fc.constantFrom(...lists),
  order: fc.constantFrom(...orders),
  type: fc.constantFrom(null, 'deposit', 'withdraw', ' Withdraw ', 'refund'),
});
const steps = fc.array(
  fc.record({
    changes: fc.array(changed, { maxLength: 3 }),
    read: fc.constantFrom(...lists, null),
  }),
  { minLength: 2, maxLength: 12 },
);

/** Compares each row with the lists at their last reading. */
async function expectWords(said: Record<List, Shown>): Promise<void> {
  const rows = await query(`
    select t.order_no as order, t.stream, t.type, t.is_listed, t.also_listed_in as other,
           (select c.new_value from ledger.transaction_changes c
             where c.order_no = t.order_no and c.field = 'type' order by c.id desc limit 1) as logged
      from ledger.transactions t`);
  for (const { order, stream, type, is_listed, other, logged } of rows) {
    const showing = lists.filter((list) => said[list].has(String(order)));
    const known = lists.filter((list) => is_listed && (list === stream || list === other));
    expect({ order, lists: known }).toEqual({ order, lists: showing });
    if (is_listed) expect(type).toBe(said[stream as List].get(String(order)));
    expect([null, type]).toContain(logged);
  }
}

test('a row has the type that its list last gave it, also if the other list had it first', async () => {
  await forAll(steps)(60, async (history) => {
    await clear();
    const shown = { deposit: new Map<string, string>(), withdraw: new Map<string, string>() };
    const said: Record<List, Shown> = { deposit: new Map(), withdraw: new Map() };
    for (const [index, { changes, read }] of history.entries()) {
      for (const { list, order, type } of changes)
        if (type === null) shown[list].delete(order);
        else shown[list].set(order, type);
      await readAt(index + 1, read, shown);
      if (read !== null) said[read] = new Map(shown[read]);
      await expectWords(said);
    }
  });
});
