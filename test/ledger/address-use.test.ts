import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import {
  checkNewAddresses,
  storeListedAddresses,
} from '../../src/ledger/addresses/address-store.ts';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { unlistRows } from '../../src/ledger/lists/stream-store.ts';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { forAll } from '../support/for-all.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
beforeEach(clear);

const statesOf = (success: string[]) => ({
  final: new Set(['success', 'done', 'failed']),
  success: new Set(success),
});
const judge = (success: string[]) => reclassifyByStates(ledger, statesOf(success));
/** Stores the states, and is interrupted before the first batch of rows. */
const beginToJudge = async (success: string[]) => {
  const cutOff: Ledger = {
    ...ledger,
    transaction: async (work, settings) => {
      // Only batches of rows have these settings.
      if (settings !== undefined) throw new Error('cut off');
      return await ledger.transaction(work);
    },
  };
  await expect(reclassifyByStates(cutOff, statesOf(success))).rejects.toThrow('cut off');
};
const address = (status: string, more = '') =>
  query(`insert into ledger.addresses (slip44, address, status, generated_by, assigned_at, first_seen_at)
         values (60, '0xAA', '${status}', 1, ${more || 'null'}, now())`);
const read = async () =>
  (await query('select status, first_deposit_order_no as first from ledger.addresses'))[0];

let observation = 0;
const deposit = (orderNo: string, state: string, occurredAt = 1_000, toAddress = 'aa') => {
  observation += 1;
  return ledger.transaction((tx) =>
    storeListedTransactions(tx, 'deposit', [
      listed({ orderNo, state, occurredAt, toAddress, observation }),
    ]),
  );
};

test('an address is used when a deposit counts, and its first deposit is the earliest that counts', async () => {
  await judge(['success']);
  await address('assigned', 'now()');
  await deposit('pending', 'pending', 500);
  await deposit('failed', 'failed', 100);
  expect(await read()).toEqual({ status: 'assigned', first: null });
  await deposit('second', 'Success ', 2_000);
  expect(await read()).toEqual({ status: 'used', first: 'second' });
  await deposit('first', 'success', 1_000);
  await deposit('third', 'success', 3_000);
  expect(await read()).toEqual({ status: 'used', first: 'first' });
  await ledger.transaction((tx) =>
    storeTransactionDetails(tx, [
      detailed({
        orderNo: 'pending',
        state: 'success',
        toAddress: 'aa',
        occurredAt: 500,
        observation: ++observation,
      }),
    ]),
  );
  expect(await read()).toEqual({ status: 'used', first: 'pending' });
  await deposit('pending', 'failed', 500);
  expect(await read()).toEqual({ status: 'used', first: 'first' });
});

test('an address changes when its deposits are undone, and is not handed out afterwards', async () => {
  await judge(['success']);
  await address('assigned', 'now()');
  await deposit('only', 'success');
  expect(await read()).toEqual({ status: 'used', first: 'only' });
  await deposit('only', 'failed');
  expect(await read()).toEqual({ status: 'assigned', first: null });
  await query(`update ledger.addresses set status = 'available', assigned_at = null`);
  await deposit('only', 'success');
  await deposit('only', 'failed');
  expect(await read()).toEqual({ status: 'foreign', first: null });
});

test('an available address with a deposit is not handed out, whatever the state of the deposit', async () => {
  await judge(['success']);
  await address('available');
  await deposit('pending', 'pending');
  expect(await read()).toEqual({ status: 'foreign', first: null });
  await deposit('pending', 'success');
  expect(await read()).toEqual({ status: 'used', first: 'pending' });
});

test('a deposit that the service no longer lists does not count', async () => {
  await judge(['success']);
  await address('assigned', 'now()');
  await deposit('first', 'success', 500);
  await deposit('second', 'success', 1_000);
  await ledger.transaction((tx) => unlistRows(tx, 'deposit', ['first']));
  expect(await read()).toEqual({ status: 'used', first: 'second' });
  await ledger.transaction((tx) => unlistRows(tx, 'deposit', ['second']));
  expect(await read()).toEqual({ status: 'assigned', first: null });
  await deposit('first', 'success', 500);
  expect(await read()).toEqual({ status: 'used', first: 'first' });
});

test('the settings decide which deposits count', async () => {
  await judge(['success']);
  await address('assigned', 'now()');
  await deposit('done', 'done', 500);
  await deposit('success', 'success', 1_000);
  expect(await read()).toEqual({ status: 'used', first: 'success' });
  await judge(['success', 'done']);
  expect(await read()).toEqual({ status: 'used', first: 'done' });
  await judge(['failed']);
  expect(await read()).toEqual({ status: 'assigned', first: null });
});

type Write =
  | { kind: 'unlist'; order: number }
  | { kind: 'deposit'; order: number; state: string; at: number | null; to: string }
  | { kind: 'list'; to: string }
  | { kind: 'judge'; success: string[]; isCutOff: boolean };
const writes = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('deposit' as const),
      order: fc.nat(5),
      state: fc.constantFrom('pending', 'success', 'done', 'failed'),
      at: fc.option(fc.nat(4)),
      to: fc.constantFrom('0xAA', 'aa', '0xBB'),
    }),
    fc.record({ kind: fc.constant('list' as const), to: fc.constantFrom('0xaa', '0xBB') }),
    fc.record({ kind: fc.constant('unlist' as const), order: fc.nat(5) }),
    fc.record({
      kind: fc.constant('judge' as const),
      success: fc.subarray(['success', 'done', 'failed']),
      isCutOff: fc.boolean(),
    }),
  ),
  { minLength: 1, maxLength: 25 },
);

test('after any sequence of writes the marks equal those of a full recount', async () => {
  await forAll(writes)(40, async (all: Write[]) => {
    await clear();
    let success = ['success', 'done'];
    await judge(success);
    for (const write of all) {
      if (write.kind === 'list') {
        await ledger.transaction((tx) => storeListedAddresses(tx, 60, [write.to]));
      } else if (write.kind === 'unlist') {
        await ledger.transaction((tx) => unlistRows(tx, 'deposit', [`o${write.order}`]));
      } else if (write.kind === 'judge') {
        success = write.success;
        await (write.isCutOff ? beginToJudge : judge)(success);
      } else await deposit(`o${write.order}`, write.state, (write.at ?? 9) * 1_000, write.to);
    }
    await judge(success);
    const marks = () =>
      query(
        'select address_key, status, first_deposit_order_no, first_deposit_at from ledger.addresses order by 1',
      );
    const seen = await marks();
    await query(`select engine.recount_use(array(select address_key from ledger.addresses))`);
    expect(await marks()).toEqual(seen);
    await checkNewAddresses(ledger.db);
    expect(await marks()).toEqual(seen);
  });
}, 60_000);
