import { beforeEach, expect, test } from 'vitest';
import { beginSightings, compareListed } from '../../src/ledger/lists/verify-store.ts';
import { countIncomplete } from '../../src/ledger/transactions/count-waiting.ts';
import {
  type ListedTransaction,
  storeListedTransactions,
} from '../../src/ledger/transactions/store-listed-transactions.ts';
import {
  type DetailedTransaction,
  storeTransactionDetails,
} from '../../src/ledger/transactions/store-transaction-details.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const fixture = await withLedger();
const { ledger, query, clear } = fixture;
beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
});

const list = (row: Partial<ListedTransaction>) =>
  ledger.transaction((tx) =>
    storeListedTransactions(tx, 'deposit', [listed({ ...final, ...row })]),
  );
const detail = (row: Partial<DetailedTransaction>) =>
  ledger.transaction((tx) => storeTransactionDetails(tx, [detailed({ ...final, ...row })]));
const final = {
  state: 'success',
  txHash: '0xaa',
  toAddress: '0xbb',
  amount: '892.44',
  occurredAt: 1_700_000_000_000,
};

/** Seconds until the detail is due again; none: it is not. */
const dueIn = async (): Promise<number[]> =>
  (
    await query<{ due: number }>(
      `select round(extract(epoch from due_at - now()))::int as due from engine.detail_checks`,
    )
  ).map(({ due }) => due);
const age = (interval: string) =>
  query(`update ledger.transactions set changed_at = now() - interval '${interval}'`);
const isReadByVerify = (row: Partial<ListedTransaction>) =>
  ledger.transaction(async (tx) => {
    await beginSightings(tx);
    const found = await compareListed(tx, [listed({ ...final, ...row })]);
    return found.altered.length === 1;
  });

test.each([
  ['amount', { amount: '17.5' }],
  ['hash', { txHash: '0xcc' }],
  ['recipient', { toAddress: '0xdd' }],
  ['time', { occurredAt: 1_800_000_000_000 }],
])(
  'a detail that repeats the %s which the list has replaced is fetched again, ever more rarely, until both agree',
  async (_name, change) => {
    await list({ observation: 1 });
    await detail({ observation: 2 });
    expect(await dueIn()).toEqual([]);
    await list({ ...change, observation: 3 });
    expect(await dueIn()).toEqual([0]);
    // A replica that is behind.
    await detail({ observation: 4 });
    expect(await dueIn()).toEqual([15]);
    expect(await countIncomplete(ledger.db)).toMatchObject({ finalIncomplete: 0 });
    // The list repeats its value: no news.
    await list({ ...change, observation: 5 });
    await age('10 minutes');
    await detail({ observation: 6 });
    expect(await dueIn()).toEqual([600]);
    await age('3 days');
    await detail({ observation: 7 });
    expect(await dueIn()).toEqual([3 * 86_400]);
    expect(await isReadByVerify(change)).toBe(true);
    await detail({ ...change, observation: 8 });
    expect(await dueIn()).toEqual([]);
    const [row] = await query('select list_word, detail_word from ledger.transactions');
    expect(row).toEqual({ list_word: null, detail_word: null });
    expect(await isReadByVerify(change)).toBe(false);
  },
);

test('a detail that replaces an amount in which it agreed with the list is fetched again', async () => {
  await list({ observation: 1 });
  await detail({ observation: 2 });
  await detail({ amount: '892.440001', observation: 3 });
  expect(await dueIn()).toEqual([15]);
  await detail({ observation: 4 });
  expect(await dueIn()).toEqual([]);
});

test('details whose values always differ from those of the list are fetched once', async () => {
  const always = { amount: '892', toAddress: '0xBB' };
  await list({ observation: 1 });
  await detail({ ...always, observation: 2 });
  expect(await dueIn()).toEqual([]);
  expect(await isReadByVerify({})).toBe(false);
  // Another field follows the list; these differ as before.
  await list({ txHash: '0xcc', observation: 3 });
  await detail({ ...always, txHash: '0xcc', observation: 4 });
  expect(await dueIn()).toEqual([]);
});

test('a state that the detail has before the list is final at once', async () => {
  await list({ state: 'pending', observation: 1 });
  await detail({ state: 'pending', observation: 2 });
  await detail({ state: 'success', observation: 3 });
  expect(await dueIn()).toEqual([]);
});
