import { beforeEach, expect, test } from 'vitest';
import {
  claimHintedDetails,
  endLook,
  hintedDetailsDueIn,
  lookDueIn,
  readHintedSubjects,
  storeHint,
  takeLook,
} from '../../src/ledger/hint-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { listed, newClaim } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();
const { db } = ledger;

beforeEach(async () => {
  await query('delete from engine.hints');
  await turnComes();
});

/** As if the time for the next requests of hints had come. */
const turnComes = () => query(`update engine.hint_turns set next_at = now()`);

const hintedSubjects = async () =>
  (await readHintedSubjects(db, ['main'])).map(({ subject }) => subject);

const waiting = async () =>
  (await query<{ n: number }>('select count(*)::int as n from engine.hints'))[0]?.n;

test('pending hints count as one hint', async () => {
  for (let count = 0; count < 5; count += 1) await storeHint(db, ['7']);
  expect(await waiting()).toBe(3);
  expect((await hintedSubjects()).sort()).toEqual(['deposit', 'details', 'withdraw']);
  const taken = await takeLook(db, 'deposit');
  expect(taken).toHaveLength(1);
  expect(await takeLook(db, 'deposit')).toEqual([]);
  expect(await lookDueIn(db, 'withdraw')).toBe(0);
});

test('a hint that arrives during a read causes another read', async () => {
  await storeHint(db, []);
  const ids = await takeLook(db, 'deposit');
  await storeHint(db, []);
  await endLook(db, 'deposit', { ids, fruitless: 1 });
  const waitMs = await lookDueIn(db, 'deposit');
  expect(waitMs).toBeGreaterThan(500);
  expect(waitMs).toBeLessThanOrEqual(1_000);
  await turnComes();
  expect(await takeLook(db, 'deposit')).toHaveLength(1);
});

test('the requests of a read without news delay the next one', async () => {
  await storeHint(db, []);
  await endLook(db, 'deposit', { ids: await takeLook(db, 'deposit'), fruitless: 7 });
  await storeHint(db, []);
  expect(await lookDueIn(db, 'deposit')).toBeGreaterThan(6_000);
});

test('a read that a dead process left is made by another process', async () => {
  await storeHint(db, []);
  await takeLook(db, 'deposit');
  expect(await lookDueIn(db, 'deposit')).toBeNull();
  await query(`update engine.hints set taken_at = now() - interval '31 seconds'`);
  await turnComes();
  expect(await takeLook(db, 'deposit')).toHaveLength(1);
});

test('a time that a clock far ahead has set delays nothing', async () => {
  await query(`update engine.hint_turns set next_at = now() + interval '1 day'`);
  await storeHint(db, []);
  expect(await lookDueIn(db, 'deposit')).toBe(0);
  expect(await takeLook(db, 'deposit')).toHaveLength(1);
});

test('only incomplete orders that hints name are claimed, each at most every five seconds', async () => {
  await ledger.transaction((tx) =>
    storeListedTransactions(tx, 'deposit', [listed({ orderNo: 'open' })]),
  );
  await storeHint(db, ['open', 'unknown']);
  expect(await hintedDetailsDueIn(db)).toBe(0);
  expect(await claimHintedDetails(db, newClaim(30_000))).toMatchObject([{ orderNo: 'open' }]);
  await storeHint(db, ['open']);
  await turnComes();
  expect(await hintedDetailsDueIn(db)).toBeNull();
  expect(await claimHintedDetails(db, newClaim(30_000))).toEqual([]);
  await query(`update engine.hints set taken_at = taken_at - interval '5 seconds'`);
  await turnComes();
  expect(await hintedDetailsDueIn(db)).toBe(0);
  expect(await claimHintedDetails(db, newClaim(30_000))).toMatchObject([{ orderNo: 'open' }]);
  await query(`update engine.hints set hinted_at = now() - interval '61 seconds'`);
  expect(await hintedSubjects()).not.toContain('details');
  expect(await query(`select from engine.hints where subject = 'details'`)).toEqual([]);
});

test('a call names at most 50 orders, and at most 1,000 orders wait', async () => {
  const numbers = Array.from({ length: 80 }, (_, index) => `order-${index}`);
  await ledger.pool.query('select ledger.hint($1)', [[...numbers, null, 'x'.repeat(600)]]);
  expect(await waiting()).toBe(52);
  for (let call = 0; call < 30; call += 1)
    await ledger.pool.query('select ledger.hint($1)', [numbers.map((each) => `${call}-${each}`)]);
  expect(await waiting()).toBeLessThanOrEqual(1_002);
});
