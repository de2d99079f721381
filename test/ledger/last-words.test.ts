import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  beginSightings,
  compareDetails,
  compareListed,
} from '../../src/ledger/lists/verify-store.ts';
import { fillTransactions } from '../../src/ledger/transactions/fill-transactions.ts';
import {
  type ListedTransaction,
  storeListedTransactions,
} from '../../src/ledger/transactions/store-listed-transactions.ts';
import {
  type DetailedTransaction,
  storeTransactionDetails,
} from '../../src/ledger/transactions/store-transaction-details.ts';
import { forAll } from '../support/for-all.ts';
import {
  detailed,
  listed,
  readChanges,
  readTransactions,
  readVersions,
} from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const fixture = await withLedger();
const { ledger, query, clear } = fixture;
const { db } = ledger;

let observation = 0;
beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  observation = 0;
});

const list = (given: Partial<ListedTransaction>) => {
  observation += 1;
  return storeListedTransactions(db, 'deposit', [listed({ ...given, observation })]);
};
const detail = (given: Partial<DetailedTransaction>) => {
  observation += 1;
  return storeTransactionDetails(db, [detailed({ ...given, observation })]);
};
const isDue = async () => {
  const rows = await query('select from ledger.waiting_details');
  return rows.length > 0;
};
/** Returns the fields in which the list row differs for verify, and the number of rows whose detail decides. */
const verdictOn = async (given: Partial<ListedTransaction>) => {
  const session = await ledger.session();
  await beginSightings(session.db);
  const { different, altered } = await compareListed(session.db, [listed(given)]);
  session.release();
  return [different.flatMap(({ fields }) => fields), altered.length];
};
const changes = async () =>
  (await readChanges(fixture)).map(({ field, old_value, new_value }) => [
    field,
    old_value,
    new_value,
  ]);

describe('if list and detail differ', () => {
  const said = {
    state: 'SUCCESS',
    toAddress: '0xAB',
    occurredAt: 1_700_000_000_000,
    amount: '1.0',
  };
  const corrected = { ...said, state: 'success', toAddress: '0xab', occurredAt: 1_700_000_001_000 };

  test('[P18] the detail wins, and an unchanged list row writes nothing, with any undocumented fields', async () => {
    await list(said);
    await detail({ ...corrected, fee: '1' });
    const before = await readVersions(fixture);
    const logged = await changes();
    for (const nth of [1, 2, 3])
      expect(await list({ ...said, extra: `{"asked": ${nth}}` })).toEqual({
        inserted: 0,
        updated: 0,
      });
    expect(await readVersions(fixture)).toEqual(before);
    expect(await changes()).toEqual(logged);
    expect(await isDue()).toBe(false);
    expect(await readTransactions(fixture)).toMatchObject([
      { state: 'success', to_address: '0xab', occurred_ms: '1700000001000' },
    ]);
  });

  test('only a field that changes in the list is updated, and the detail is due', async () => {
    await list(said);
    await detail(corrected);
    const logged = (await changes()).length;
    expect(await list({ ...said, amount: '2' })).toMatchObject({ updated: 1 });
    expect((await changes()).slice(logged)).toEqual([['amount', '1.0', '2']]);
    expect(await isDue()).toBe(true);
    await detail(corrected);
    const before = await readVersions(fixture);
    await list({ ...said, amount: '2' });
    expect(await readVersions(fixture)).toEqual(before);
    expect(await readTransactions(fixture)).toMatchObject([{ amount: '1.0', to_address: '0xab' }]);
  });

  test('a list that catches up with the detail changes nothing, and is news when it changes back', async () => {
    await list({ state: 'pending' });
    await detail({ state: 'success' });
    const logged = await changes();
    expect(await list({ state: 'success' })).toEqual({ inserted: 0, updated: 0 });
    expect(await changes()).toEqual(logged);
    expect(await isDue()).toBe(false);
    expect(await list({ state: 'pending' })).toMatchObject({ updated: 1 });
    expect(await isDue()).toBe(true);
  });

  test('a row whose detail became final after its list row is checked once more when the list repeats it', async () => {
    await list({ state: 'pending' });
    await detail({ state: 'success' });
    expect(await verdictOn({ state: 'pending' })).toEqual([[], 1]);
    expect(await verdictOn({ state: 'success' })).toEqual([[], 0]);
    const logged = await changes();
    await list({ state: 'pending' });
    expect(await changes()).toEqual(logged);
    expect(await isDue()).toBe(true);
    await detail({ state: 'success' });
    expect(await verdictOn({ state: 'pending' })).toEqual([[], 0]);
    const before = await readVersions(fixture);
    await list({ state: 'pending' });
    expect(await readVersions(fixture)).toEqual(before);
    expect(await isDue()).toBe(false);
  });

  test('a repeated detail keeps the record that the list was not read since', async () => {
    await list({ state: 'pending' });
    await detail({ state: 'success' });
    await detail({ state: 'success', fee: '1' });
    await list({ state: 'pending' });
    expect(await isDue()).toBe(true);
    await detail({ state: 'pending', fee: '1' });
    expect(await readTransactions(fixture)).toMatchObject([{ state: 'pending' }]);
  });

  test('verify finds a difference only if someone wrote it, or if a current answer shows it', async () => {
    await list(said);
    await detail({ ...corrected, fee: '1' });
    const detailDiffers = async (given: Partial<DetailedTransaction>) =>
      (await compareDetails(db, [detailed(given)])).flatMap(({ fields }) => fields);
    expect(await verdictOn(said)).toEqual([[], 0]);
    expect(await detailDiffers({ ...corrected, fee: '1' })).toEqual([]);
    expect(await verdictOn({ ...said, toAddress: null, amount: null })).toEqual([
      ['toAddress', 'amount'],
      0,
    ]);
    const unreadable = { amount: null, unreadable: ['amount'] };
    expect(await verdictOn({ ...said, ...unreadable })).toEqual([[], 0]);
    expect(await detailDiffers({ ...corrected, ...unreadable, feeSymbol: 'ETH' })).toEqual([
      'fee',
      'feeSymbol',
    ]);
    await query(`update ledger.transactions set to_address = 'elsewhere'`);
    expect(await verdictOn(said)).toEqual([[], 1]);
    expect(await detailDiffers({ ...corrected, fee: '1' })).toEqual(['toAddress']);
  });
});

test('after any answers, a repetition of list and detail changes nothing', async () => {
  const field = (...texts: string[]) => fc.option(fc.constantFrom(...texts));
  const answer = fc.record({
    txHash: field('0x1', '0x2'),
    toAddress: field('0xa', '0xA'),
    amount: field('1', '2'),
    state: field('pending', 'success'),
    type: field('deposit', 'withdraw'),
    occurredAt: fc.option(fc.constantFrom(1_700_000_000_000, 1_700_000_000_001)),
    unreadable: fc.subarray(['amount', 'time', 'txHash']),
  });
  const drawn = forAll(fc.array(fc.tuple(fc.boolean(), answer), { maxLength: 8 }), answer, answer);
  await drawn(60, async (earlier, listWord, detailWord) => {
    await clear();
    for (const [isList, given] of earlier) await (isList ? list(given) : detail(given));
    await list(listWord);
    await detail(detailWord);
    await list(listWord);
    const before = await readVersions(fixture);
    expect(await list(listWord)).toEqual({ inserted: 0, updated: 0 });
    expect(await readVersions(fixture)).toEqual(before);
    const logged = await changes();
    expect(await detail(detailWord)).toBe(0);
    expect(await changes()).toEqual(logged);
    for (const [name, column] of [
      ['txHash', 'tx_hash'],
      ['toAddress', 'to_address'],
      ['amount', 'amount'],
      ['state', 'state'],
    ] as const) {
      const [row] = await readTransactions(fixture);
      if (detailWord[name] !== null) expect(row?.[column]).toBe(detailWord[name]);
    }
  });
}, 60_000);

describe('a field that the same kind of answer once filled and now leaves empty', () => {
  test('[P18] becomes empty and is logged for a list row, whose detail is due', async () => {
    await list({ state: 'success', txHash: '0x1' });
    await detail({ state: 'success', txHash: '0x1' });
    await list({ state: 'pending', txHash: null });
    expect(await changes()).toEqual([
      ['tx_hash', '0x1', null],
      ['state', 'success', 'pending'],
    ]);
    expect(await isDue()).toBe(true);
    await detail({ state: 'pending', txHash: null });
    expect(await readTransactions(fixture)).toMatchObject([{ state: 'pending', tx_hash: null }]);
  });

  test('becomes empty and is logged for a detail', async () => {
    await list({ state: 'pending' });
    await detail({ state: 'pending', fee: '1', feeSymbol: 'ETH', confirmNum: 3 });
    await detail({ state: 'pending' });
    expect(await changes()).toEqual([
      ['confirm_num', '3', null],
      ['fee', '1', null],
      ['fee_symbol', 'ETH', null],
    ]);
  });

  test('keeps its value if it could not be read', async () => {
    await list({ amount: '1', state: 'success' });
    await detail({ amount: '1', state: 'success', fee: '2' });
    const before = await readVersions(fixture);
    await list({ amount: null, state: 'success', unreadable: ['amount'] });
    expect(await readVersions(fixture)).toEqual(before);
    await detail({ state: 'success', unreadable: ['amount', 'fee'] });
    expect(await readTransactions(fixture)).toMatchObject([{ amount: '1', fee: '2' }]);
    expect(await changes()).toEqual([]);
  });

  test('is not filled again by an old answer', async () => {
    await list({ txHash: '0x1' });
    await list({ txHash: null });
    await fillTransactions(db, [detailed({ txHash: '0x1', fee: '1', observation: 0 })]);
    expect(await readTransactions(fixture)).toMatchObject([{ tx_hash: null, fee: '1' }]);
  });
});

test('a value that an old answer fills is not emptied by a kind of answer that never had it', async () => {
  await list({ state: 'pending' });
  await fillTransactions(db, [detailed({ txHash: '0x1', fee: '1', observation: 0 })]);
  const before = await readVersions(fixture);
  expect(await list({ state: 'pending' })).toEqual({ inserted: 0, updated: 0 });
  expect(await readVersions(fixture)).toEqual(before);
  await detail({ state: 'pending' });
  expect(await readTransactions(fixture)).toMatchObject([{ tx_hash: '0x1', fee: '1' }]);
});

test('an undocumented field that changes with every detail is no change, and lets the checks become rarer', async () => {
  await list({ state: 'pending' });
  await detail({ state: 'pending', extra: '{"asked": 1}' });
  await query(`update ledger.transactions set changed_at = now() - interval '10 minutes'`);
  for (const nth of [2, 3]) {
    expect(await detail({ state: 'pending', extra: `{"asked": ${nth}}` })).toBe(0);
    expect(
      await query(`select round(extract(epoch from due_at - now()))::int as due
                     from ledger.waiting_details`),
    ).toEqual([{ due: 300 }]);
  }
  expect(await changes()).toEqual([]);
  await detail({ state: 'success', extra: '{"asked": 4}' });
  expect(await readTransactions(fixture)).toMatchObject([{ extra: '{"asked": 4}' }]);
});

describe('a row that an earlier version stored', () => {
  const age = () =>
    query(`update ledger.transactions set list_word = '"unknown"', detail_word = '"unknown"',
                                          first_detail_at = null`);

  test('is not written for list rows that are equal, or that lack values of the detail', async () => {
    await list({ state: 'success', amount: '1' });
    await detail({ state: 'success', amount: '1', txHash: '0x1' });
    await age();
    const before = await readVersions(fixture);
    expect(await list({ state: 'success', amount: '1' })).toEqual({ inserted: 0, updated: 0 });
    expect(await readVersions(fixture)).toEqual(before);
  });

  test('is corrected once by its detail if the list differs, and is not written again', async () => {
    await list({ state: 'SUCCESS' });
    await detail({ state: 'success', txHash: '0x1' });
    await age();
    expect(await list({ state: 'SUCCESS' })).toMatchObject({ updated: 1 });
    expect(await isDue()).toBe(true);
    await detail({ state: 'success', txHash: '0x1' });
    const before = await readVersions(fixture);
    await list({ state: 'SUCCESS' });
    expect(await readVersions(fixture)).toEqual(before);
  });

  test('keeps values that its detail lacks, but not a fee that the service does not have', async () => {
    await list({ state: 'pending', toAddress: '0xa' });
    await detail({ state: 'pending', fee: '1' });
    await age();
    await detail({ state: 'pending' });
    expect(await readTransactions(fixture)).toMatchObject([{ to_address: '0xa', fee: null }]);
  });
});
